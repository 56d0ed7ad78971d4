"""The base of all records: frozen, typed, and the same on disk as in memory."""

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=False):
    """The base of all records."""
