"""The tests that are left out under Windows' Python, each with its reason. See `deploy/windows/run-tests`."""

from __future__ import annotations

from collections.abc import Mapping

_BROWSER = "no browser for Python there"
_TERMINAL = "it opens a pseudo-terminal, which only Unix has"
_DELETED = "Wine keeps the name of a deleted file until it is closed, as Windows did before 10"
_REPLACED = "Windows does not replace a file that is open"
_FIFO = "folders have no named pipes there"
_LINKS = "Wine does not make symbolic links as Windows has them"
_MODES = "Windows has no permission bits"
_NAMES = "names of files are Unicode there"
_SHELL = "it needs a Unix shell or a signal"
_ORDER = "Windows sorts paths without regard to case"
_WORDS = "Windows has other words for the same error"

MODULES: Mapping[str, str] = {
    "cli/test_archives.py": "numpy does not load in Wine",
    "cli/test_export.py": "numpy does not load in Wine",
    "cli/test_info.py": _TERMINAL,
    "cli/test_process_pool.py": "it sends signals to processes and threads, which Windows does not have",
    "cli/test_find.py": "a name of a file has a line break",
    "cli/test_reindex.py": _TERMINAL,
    "cli/test_situations.py": "numpy does not load in Wine",
    "cli/test_start.py": "it replaces the home folder as Unix has it, in HOME",
    "outputs/test_real_obs.py": "it needs Xvfb, and signals",
    "web/test_audit.py": _BROWSER,
    "web/test_axe.py": _BROWSER,
    "web/test_client_js.py": _BROWSER,
    "web/test_client_module.py": _BROWSER,
    "web/test_crews.py": _BROWSER,
    "web/test_bracket.py": _BROWSER,
    "web/test_controllers.py": _BROWSER,
    "web/test_dashboard.py": _BROWSER,
    "web/test_delta_client.py": _BROWSER,
    "web/test_docs_page.py": _BROWSER,
    "web/test_editor.py": _BROWSER,
    "web/test_first_run.py": _BROWSER,
    "web/test_game_search.py": _BROWSER,
    "web/test_fonts.py": "the tools that make the fonts are not installed there",
    "web/test_icons.py": _BROWSER,
    "web/test_index.py": _BROWSER,
    "web/test_instant_replay.py": _BROWSER,
    "web/test_keyboard_day.py": _BROWSER,
    "web/test_languages.py": _BROWSER,
    "web/test_lighthouse.py": _BROWSER,
    "web/test_moments.py": _BROWSER,
    "web/test_on_air_pages.py": _BROWSER,
    "web/test_overlay.py": _BROWSER,
    "web/test_overlay_live.py": _BROWSER,
    "web/test_overlay_options.py": _BROWSER,
    "web/test_problem_pages.py": _BROWSER,
    "web/test_production_desk.py": _BROWSER,
    "web/test_scene_example.py": _BROWSER,
    "web/test_scenes.py": _BROWSER,
    "web/test_scenes_boards.py": _BROWSER,
    "web/test_paths.py": "its configuration has paths in quotes, where a backslash begins an escape",
    "web/test_seats_pages.py": _BROWSER,
    "web/test_set_on_air.py": _BROWSER,
    "web/test_sets.py": _BROWSER,
    "web/test_time_mode.py": _BROWSER,
    "web/test_types.py": "it reads the sources and runs none of them",
    "web/test_wall.py": _BROWSER,
}
"""Whole modules: most of them cannot be imported there."""

TESTS: Mapping[str, str] = {
    "cli/test_commands.py::test_dump_reports_files_that_cannot_be_read": _FIFO,
    "cli/test_commands.py::test_output_that_cannot_be_written": _SHELL,
    "cli/test_stats.py::test_json_equals_the_stats_of_the_library": _ORDER,
    "cli/test_stats.py::test_other_files_are_read_after_a_broken_one": _WORDS,
    "config/test_config.py::test_error_names_file_key_and_what_was_expected[table23-stations[0].folder-home]": (
        "Windows takes the folder of any user to be next to one's own"
    ),
    "outputs/test_daemon.py::test_outputs_are_complete_after_a_kill_while_the_receiver_is_down": (
        "Windows ends a process at once, without SIGTERM"
    ),
    "outputs/test_obs_daemon.py::test_daemon_without_its_obs": _WORDS,
    "outputs/test_webhook.py::test_damaged_store_is_set_aside": _MODES,
    "outputs/test_webhook.py::test_failures_without_a_response": "Wine has no text for a refused connection",
    "sources/tail/test_folder.py::test_all_descriptors_are_closed": "descriptors are counted in /proc/self",
    "sources/tail/test_folder.py::test_deleted_file_is_read_to_its_end_and_lost": _DELETED,
    "sources/tail/test_folder.py::test_deleted_file_with_many_unread_bytes": _DELETED,
    "sources/tail/test_folder.py::test_deletion_is_noticed_without_a_scan": _DELETED,
    "sources/tail/test_folder.py::test_exhausted_file_is_read_again_when_it_is_another": _REPLACED,
    "sources/tail/test_folder.py::test_fifo_is_refused_once": _FIFO,
    "sources/tail/test_folder.py::test_file_deleted_and_recreated": _DELETED,
    "sources/tail/test_folder.py::test_file_name_that_is_not_utf8": _NAMES,
    "sources/tail/test_folder.py::test_file_replaced_by_a_rename": _REPLACED,
    "sources/tail/test_folder.py::test_link_inside_the_folder_is_followed": _LINKS,
    "sources/tail/test_folder.py::test_link_out_of_the_folder_is_refused": _LINKS,
    "sources/tail/test_folder.py::test_reads_use_threads_where_nowait_is_unsupported": "local files are read at once",
    "sources/tail/test_folder.py::test_rename_over_another_followed_file": _REPLACED,
    "sources/tail/test_folder.py::test_root_may_be_a_link": _LINKS,
    "sources/tail/test_folder.py::test_second_link_is_not_a_second_file": _LINKS,
    "sources/tail/test_folder.py::test_settled_comes_even_if_an_initial_file_vanishes": _DELETED,
    "sources/tail/test_folder.py::test_unreadable_file_from_the_future_is_refused": _MODES,
    "sources/tail/test_folder.py::test_unreadable_file_is_refused_until_permission_returns": _MODES,
    "sources/tail/test_order.py::test_old_file_that_is_lost_or_released_blocks_no_new_file": _DELETED,
    "sources/tail/test_parts.py::test_fifo_that_takes_the_path_while_it_is_opened": _FIFO,
    "sources/tail/test_parts.py::test_current_folder_is_watched[recreated]": _DELETED,
    "sources/tail/test_watcher.py::test_polling_alone_finds_everything": _DELETED,
    "sources/tail/test_watcher.py::test_deleted_file_is_lost": _DELETED,
    "sources/tail/test_watcher.py::test_root_deleted_and_recreated": _DELETED,
    "sources/tail/test_watcher.py::test_root_that_is_a_link": _LINKS,
    "system/test_files.py::test_start_and_size_of_a_file": _WORDS,
    "system/test_metrics.py::test_daemon_exports_every_row_and_the_few_that_the_dashboard_asks_for": (
        "figures of the process are those of Linux"
    ),
    "web/test_server.py::test_bad_descriptor_is_raised": "a socket is no descriptor there",
    "web/test_server.py::test_port_in_use": _WORDS,
    "web/test_assets.py::test_files_that_cannot_be_opened_are_404": _FIFO,
    "web/test_seats_api.py::test_codes_and_claims_survive_a_restart": "Windows ends a process at once, without SIGTERM",
    "web/test_seats_api.py::test_no_token_is_logged": "Windows ends a process at once, without SIGTERM",
}
"""Tests, by module and name, with parameters or without."""
