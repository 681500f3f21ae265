"""The frames of a whole game as columns, and as Arrow and pandas tables (extra `analysis`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slpstream.formats.slippi.columns import FrameColumns

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Frames(FrameColumns):
    """Frames as columns and tables: one row for each frame number with its last sending, or one for each sending
    (`sendings`)."""

    def to_arrow(self) -> pa.Table:
        """An Arrow table with one row for each frame and character.

        The columns are `frame`, `revision`, `player_index`, `is_follower`, then the fields as `pre_...` and `post_...`;
        null where the character has no event or the replay has no such field.
        """
        from slpstream.formats.slippi.arrow import frames_table  # noqa: PLC0415 -- pyarrow loads only on request

        return frames_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The same rows as `to_arrow` in a pandas data frame."""
        return self.to_arrow().to_pandas()
