"""What is an error of a part, and what is none."""

import pytest

from pyroclust.core.messages import Attempts


@pytest.mark.parametrize("error", [TimeoutError("time is over"), MemoryError(), KeyboardInterrupt()])
def test_what_is_no_error_of_the_part_ends_the_run(error):
    def part() -> None:
        raise error

    tries = Attempts()
    with pytest.raises(type(error)):
        tries.value_or_none("The part", part)
    assert not tries.failures
