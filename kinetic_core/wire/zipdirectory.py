"""The directory at the end of a ZIP archive: where it lies, and its records as they stand."""

from mmap import mmap
from struct import Struct, error
from typing import Final

_END: Final = Struct("<4s4H2LH")
_END64_LOCATOR: Final = Struct("<4sLQL")
_END64: Final = Struct("<4sQ2H2L4Q")
_RECORD_BYTES: Final = 46
_LENGTHS_AT: Final = 28
_LENGTHS: Final = Struct("<3H8xL")
"""Of a record: how long name, extra field and comment are, and the offset of the entry."""
_OFFSET_AT: Final = 42
_OFFSET: Final = Struct("<L")
_MAX_COMMENT: Final = 0xFFFF
_MAX_16: Final = 0xFFFF
_MAX_32: Final = 0xFFFF_FFFF


def find_directory(data: mmap) -> tuple[int, int, int]:
    """Return how many records the directory has, where it begins, and where it ends.

    Raises:
        ValueError: It is no ZIP archive, damaged, or split.
    """
    at = data.rfind(b"PK\5\6", max(0, len(data) - _END.size - _MAX_COMMENT))
    if at < 0 or at + _END.size > len(data):
        raise ValueError("not a ZIP archive, or cut off")
    _, disk, first_disk, here, count, size, offset, _ = _END.unpack_from(data, at)
    end = at
    if _MAX_16 in (count, disk) or _MAX_32 in (size, offset):
        locator = at - _END64_LOCATOR.size
        if locator >= 0 and data[locator : locator + 4] == b"PK\6\7":
            end = _END64_LOCATOR.unpack_from(data, locator)[2]
            if end + _END64.size > locator or data[end : end + 4] != b"PK\6\6":
                raise ValueError("the end of the archive is damaged")
            disk, first_disk, here, count, size, offset = _END64.unpack_from(data, end)[4:]
    if disk or first_disk or here != count:
        raise ValueError("the archive is split over several files")
    if offset + size != end:
        raise ValueError("the archive's directory is not where its end says")
    return count, offset, end


class Directory:
    """The records of an archive below 4 GiB whose entries follow one another in the directory's order.

    Entries keep their bytes and their records when they stand in another archive, but for one number: their offset.
    """

    def __init__(self, data: mmap) -> None:
        """Read where each entry and each record begins.

        Args:
            data: The archive; it stays open as long as this is used.

        Raises:
            ValueError: It is no such archive.
        """
        count, self.start, self.stop = find_directory(data)
        self.data = data
        self._offsets, self._records = [0] * (count + 1), [0] * (count + 1)
        at, last = self.start, -1
        for index in range(count):
            if data[at : at + 4] != b"PK\1\2" or at + _RECORD_BYTES > self.stop:
                raise ValueError("the archive's directory is damaged")
            name, extra, comment, offset = _LENGTHS.unpack_from(data, at + _LENGTHS_AT)
            if not last < offset < self.start:
                raise ValueError("the archive's entries do not follow one another")
            self._offsets[index], self._records[index] = offset, at
            at, last = at + _RECORD_BYTES + name + extra + comment, offset
        if at != self.stop:
            raise ValueError("the archive's directory is damaged")
        self._offsets[count], self._records[count] = self.start, self.stop

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._offsets) - 1

    def bounds(self, first: int, count: int) -> tuple[int, int]:
        """Return where the bytes of consecutive entries begin and end, their own headers included.

        Raises:
            ValueError: There are no such entries.
        """
        if not 0 <= first <= first + count <= len(self):
            raise ValueError(f"entries {first} to {first + count} are asked of an archive that has {len(self)}")
        return self._offsets[first], self._offsets[first + count]

    def records(self, first: int, count: int, shift: int) -> bytes:
        """Return the records of consecutive entries, as they are when the entries lie so many bytes further on.

        Raises:
            ValueError: They would lie at no offset that a record can hold.
        """
        begin, end = self._records[first], self._records[first + count]
        if not shift:
            return self.data[begin:end]
        moved = bytearray(self.data[begin:end])
        try:
            for index in range(first, first + count):
                _OFFSET.pack_into(moved, self._records[index] - begin + _OFFSET_AT, self._offsets[index] + shift)
        except error as overflow:
            raise ValueError(
                f"an entry would lie out of the reach of the archive's directory: {overflow}"
            ) from overflow
        return bytes(moved)
