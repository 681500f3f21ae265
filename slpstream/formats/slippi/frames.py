"""The frames of a whole game as columns and, if you have the extra `analysis`, as Arrow and pandas tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slpstream.formats.slippi.columns import FrameColumns

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Frames(FrameColumns):
    """Frames as columns and tables.

    There is one row for each frame number, with its last sending, or one for each sending (`sendings`).
    """

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with one row for each frame and character.

        The columns are `frame`, `revision`, `player_index`, `is_follower`, and then the fields as `pre_...` and
        `post_...`. If the character doesn't have an event, or the replay doesn't have a field, the value is null.
        """
        from slpstream.formats.slippi.arrow import frames_table  # noqa: PLC0415 -- pyarrow loads only on request

        return frames_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same rows as `to_arrow`, but as a pandas data frame."""
        return self.to_arrow().to_pandas()
