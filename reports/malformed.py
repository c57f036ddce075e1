"""What reading text raises that is no JSON, or JSON of another form than ours."""

from __future__ import annotations

import msgspec

# The last one where it is nested too deeply, also in a part that nobody asks for.
MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
