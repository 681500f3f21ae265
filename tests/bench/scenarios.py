"""Real-time scenarios of the daemon, with their targets."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from tests.bench import slippi_js
from tests.bench.bare_loop import FORMS
from tests.bench.game_writer import DISTURBANCES
from tests.bench.live import Load, Measured, idle_cpu, measure, measure_bare
from tests.bench.report import Figure, Form

ABOUT_ONE_KILOBYTE = (
    "fields=post.percent,post.stocksRemaining,post.positionX,post.positionY,post.facingDirection,post.actionStateId,"
    "post.shieldSize,post.lastAttackLanded,post.currentComboCount,post.lastHitBy,post.actionStateCounter,"
    "post.hurtboxCollisionState,pre.joystickX,pre.joystickY,pre.cStickX,pre.cStickY,pre.buttons,start"
)


def one_station(form: Form) -> list[Figure]:
    """One station at 60 frames per second with one subscriber: CPU time of the whole daemon."""
    runs = _runs(form, Load(stations=1, seconds=form.seconds(20), peer=True))
    peers = [m.peer_cpu for m in runs if m.peer_cpu is not None]
    if peers:
        theirs, ours = median(peers), median(m.daemon_cpu for m in runs)
        peer = f"{slippi_js.name()} with fs.watch, without encoding or sending: {theirs:.1f} %"
        peer += f", ratio {theirs / ours:.2f}" if ours else ""
    else:
        peer = f"no peer: {slippi_js.missing()}"
    return [
        Figure("one station, CPU", [m.daemon_cpu for m in runs], "% of a core", 5.0, f"{_load(runs)}; {peer}"),
        Figure("one station, CPU a frame", _microseconds(runs, 1), "µs", 200.0),
        *_beside_bare_loops("one station", runs, Load(stations=1, seconds=form.seconds(20)), 1.7),
    ]


def latency(form: Form) -> list[Figure]:
    """From the append to the file to the websocket message, for one station, frame by frame."""
    runs = _runs(form, Load(stations=1, seconds=form.seconds(20)))
    return [
        Figure("one station, latency p50", [m.quantile(0.5) for m in runs], "ms", 1.5, _load(runs)),
        Figure("one station, latency p99", [m.quantile(0.99) for m in runs], "ms", 8.0, _worst(runs)),
    ]


def sixty_four(form: Form) -> list[Figure]:
    """64 stations at 60 frames per second with one subscriber each, unrelated to each other or all in step."""
    count = 8 if form.short else 64
    runs, in_step = (_runs(form, Load(count, form.seconds(15), in_step=in_step)) for in_step in (False, True))
    return [
        Figure(f"{count} stations, CPU", [m.daemon_cpu for m in runs], "% of a core", 100.0, _load(runs)),
        Figure(f"{count} stations, CPU a frame", _microseconds(runs, count), "µs", 60.0),
        *_beside_bare_loops(f"{count} stations", runs, Load(count, form.seconds(15)), 1.6),
        Figure(f"{count} stations, latency p50", [m.quantile(0.5) for m in runs], "ms"),
        Figure(f"{count} stations, latency p99", [m.quantile(0.99) for m in runs], "ms", 8.0, _worst(runs)),
        Figure(f"{count} stations in step, CPU", [m.daemon_cpu for m in in_step], "% of a core", None, _load(in_step)),
        Figure(
            f"{count} stations in step, latency p99", [m.quantile(0.99) for m in in_step], "ms", None, _worst(in_step)
        ),
    ]


def odds(form: Form) -> list[Figure]:
    """64 stations with one subscriber each that also asks for the odds, compared with subscribers that do not."""
    count = 8 if form.short else 64
    loads = [Load(count, form.seconds(15), query=query) for query in ("", "also=odds")]
    pairs = [[measure(load) for load in loads] for _ in range(form.times)]
    # In the short form, the daemon may use less than a tick of the clock.
    ratios = [more.daemon_cpu / less.daemon_cpu if less.daemon_cpu else 1.0 for less, more in pairs]
    runs = [more for _, more in pairs]
    return [
        Figure(f"{count} stations with odds, CPU a frame", _microseconds(runs, count), "µs", None, _load(runs)),
        Figure(f"{count} stations with odds, CPU, ratio to without", ratios, "x", 1.05, _worst(runs)),
    ]


def idle(form: Form) -> list[Figure]:
    """64 stations whose games are paused: CPU time while nothing happens."""
    count = 8 if form.short else 64
    values = [idle_cpu(count, form.seconds(20)) for _ in range(form.times)]
    return [Figure(f"{count} stations with paused games, CPU", values, "% of a core", 1.0)]


def many_stations(form: Form) -> list[Figure]:
    """128 stations at 60 frames per second with one subscriber each, more than a large tournament has."""
    count = 9 if form.short else 128  # not the number of `sixty_four`, because it is part of the names
    runs = _runs(form, Load(stations=count, seconds=form.seconds(15)))
    return [
        Figure(f"{count} stations, CPU a frame", _microseconds(runs, count), "µs", None, _load(runs)),
        Figure(f"{count} stations, latency p99", [m.quantile(0.99) for m in runs], "ms", 16.7, _worst(runs)),
        Figure(f"{count} stations, frames missing", [float(m.missed) for m in runs], "frames", 0.0),
    ]


def disturbed(form: Form) -> list[Figure]:
    """16 stations, one of which is killed, stalls, or is corrupted every second: the latency of the other fifteen."""
    count = 4 if form.short else 16
    quiet = _runs(form, Load(count, form.seconds(15)))
    figures = [Figure(f"{count} stations, latency p99", [m.quantile(0.99) for m in quiet], "ms", 16.7, _worst(quiet))]
    for disturbance in DISTURBANCES:
        runs = _runs(form, Load(count, form.seconds(15), disturbance=disturbance))
        name = f"one of {count} stations {disturbance}, latency p99 of the others"
        figures.append(Figure(name, [m.quantile(0.99) for m in runs], "ms", 16.7, _worst(runs)))
    return figures


def fan_out(form: Form) -> list[Figure]:
    """One station, 1,000 subscribers, messages of about 1 KB."""
    count = 100 if form.short else 1000
    load = Load(
        1,
        form.seconds(15),
        subscribers=count,
        query=f"topics=frame&{ABOUT_ONE_KILOBYTE}",
        sample_every=count // 50,
    )
    runs = _runs(form, load)
    delivered = median(m.messages_per_second for m in runs)
    size = median(m.bytes_per_frame for m in runs)
    note = f"{size:,.0f} B per frame with its `finalized`, {delivered:,.0f} messages/s delivered; {_load(runs)}"
    return [
        Figure(f"{count:,} subscribers, CPU", [m.daemon_cpu for m in runs], "% of a core", 35.0, note),
        Figure(f"{count:,} subscribers, latency p50", [m.quantile(0.5) for m in runs], "ms"),
        Figure(f"{count:,} subscribers, latency p99", [m.quantile(0.99) for m in runs], "ms", None, _worst(runs)),
    ]


def hostile(form: Form) -> list[Figure]:
    """One station with 20 honest subscribers, and all kinds of hostile clients."""
    count = 5 if form.short else 50
    slow = (f"never_reads={count}", f"reads_a_byte_a_second={count}")
    floods = (f"subscribes={count}", f"pings={count}", f"big_messages={count}", f"big_bodies={count}")
    silent = (f"half_open={count}", f"slow_head={count}", f"nothing={100 if form.short else 5000}")
    seconds = form.seconds(20)
    kinds = {"slow readers": slow, "floods": floods, "silent ones": silent}
    if form.short:
        kinds = {"all of them": (*slow, *floods, *silent)}
    figures = []
    for name, attackers in kinds.items():
        runs = _runs(form, Load(1, seconds, subscribers=20, attackers=attackers))
        cpu = median(m.attackers_cpu or 0.0 for m in runs)
        note = f"{', '.join(attackers)}, using {cpu:.0f} % of a core; {_worst(runs)}"
        dropped, peak_megabytes = sum(m.dropped for m in runs), max(m.peak_megabytes for m in runs)
        figures += [
            Figure(f"hostile: {name}, latency p99 of others", [m.quantile(0.99) for m in runs], "ms", 16.7, note),
            Figure(
                f"hostile: {name}, CPU", [m.daemon_cpu for m in runs], "% of a core", None,
                f"peak memory {peak_megabytes:.0f} MB, {dropped:,} connections ended",
            ),
        ]  # fmt: skip
    return figures


def _beside_bare_loops(name: str, runs: Sequence[Measured], load: Load, target: float) -> list[Figure]:
    """CPU time of bare loops per written frame, and that of the daemon as a multiple of the bare trio task.

    Each run of the daemon is compared with one run of each loop, with the same writer and messages of the same size.
    """
    bare: dict[str, list[Measured]] = {kind: [] for kind in FORMS}
    for run in runs:
        for kind in FORMS:
            bare[kind].append(measure_bare(load, kind, round(run.bytes_per_frame)))
    pairs = zip(runs, bare["trio"], strict=True)
    # In the short form, a loop may use less than a tick of the clock.
    ratios = [ours.daemon_cpu / theirs.daemon_cpu if theirs.daemon_cpu else 0.0 for ours, theirs in pairs]
    return [
        *(
            Figure(
                f"{name}, bare loop ({kind}), CPU a frame", _microseconds(bare[kind], load.stations), "µs", None,
                f"latency p99 {median(m.quantile(0.99) for m in bare[kind]):.1f} ms, "
                f"missed {sum(m.missed for m in bare[kind])}",
            )
            for kind in FORMS
        ),
        Figure(f"{name}, CPU, ratio to the bare trio task", ratios, "x", target),
    ]  # fmt: skip


def _microseconds(runs: Sequence[Measured], stations: int) -> list[float]:
    """CPU time of the daemon per written frame."""
    return [m.daemon_cpu / 100 / (FRAMES_PER_SECOND * stations) * 1e6 for m in runs]


def _load(runs: Sequence[Measured]) -> str:
    writer, clients = median(m.writer_cpu for m in runs), median(m.clients_cpu for m in runs)
    return f"writer {writer:.0f} %, clients {clients:.0f} %, {_others(runs)}"


def _worst(runs: Sequence[Measured]) -> str:
    frames, missed = sum(m.frames for m in runs), sum(m.missed for m in runs)
    worst, late = max(m.latencies[-1] for m in runs), median(m.writer_late_ms for m in runs)
    lost = f"missed {missed}, lagged {sum(m.lagged for m in runs)}"
    return f"{frames:,} frames, max {worst:.1f} ms, {lost}; writer itself late {late:.1f} ms (p99), {_others(runs)}"


def _others(runs: Sequence[Measured]) -> str:
    return f"other processes {median(m.others_cpu for m in runs):.0f} %"


def _runs(form: Form, load: Load) -> list[Measured]:
    return [measure(load) for _ in range(form.times)]
