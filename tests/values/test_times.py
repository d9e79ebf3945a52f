"""Dates, moments and durations: strict spellings, exact round trips."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given

from tests.values.samples import dates, datetimes, durations
from touba_cli.values.equality import equal
from touba_cli.values.numbers import Misspelt
from touba_cli.values.times import (
    date_text,
    datetime_text,
    duration_text,
    read_date,
    read_datetime,
    read_duration,
    within_utc,
)


@given(dates)
def test_dates_round_trip(date: datetime.date) -> None:
    assert read_date(date_text(date)) == date
    assert date_text(date) == date.isoformat()


@given(datetimes)
def test_moments_round_trip_with_their_offset(moment: datetime.datetime) -> None:
    back = read_datetime(datetime_text(moment))
    assert equal(back, moment)
    assert back.utcoffset() == moment.utcoffset()
    assert back.replace(tzinfo=None) == moment.replace(tzinfo=None)


@given(durations)
def test_durations_round_trip(span: datetime.timedelta) -> None:
    text = duration_text(span)
    assert read_duration(text) == span
    assert duration_text(read_duration(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "2024-W05-1", "20240101", "2024-1-01", "2024-01-1", "2024-02-30", "2023-02-29", "0000-01-01", "10000-01-01",
     "2024-13-01", "2024-00-10", "-024-01-01", "+024-01-01", "2024-01-01 ", " 2024-01-1", "２０２４-01-01",
     "2024/01/01", "2024-01-01T00:00:00Z", "2024-0a-01", "9" * 10**5],
)  # fmt: skip
def test_what_spells_no_date(text: str) -> None:
    with pytest.raises(Misspelt):
        read_date(text)


@pytest.mark.parametrize(
    "text",
    ["", "Z", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01t00:00:00Z",
     "2024-01-01T00:00:00z", "2024-01-01T00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T23:59:60Z",
     "2024-01-01T00:60:00Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00,5Z",
     "2024-01-01T00:00:00+14:01",
     "2024-01-01T00:00:00+15:00", "2024-01-01T00:00:00+02", "2024-01-01T00:00:00+0200", "2024-01-01T00:00:00+01:60",
     "2024-01-01T00:00:00+02:00:00", "2024-01-01T00:00:00 +02:00", "2024-01-01T00:00:00Z\n", "2024-01-01T0 :00:00Z",
     "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2024-02-30T00:00:00Z", "2024-01-01T00:00:00.-5Z",
     "2024-01-01T00:00:00.٥Z", "2024-01-01T-1:00:00Z", "2024-01-01T00:00:00" + "." + "0" * 10**5 + "Z"],
)  # fmt: skip
def test_what_spells_no_moment(text: str) -> None:
    with pytest.raises(Misspelt):
        read_datetime(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
     ("2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00Z"),
     ("2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"),
     ("2024-01-01T00:00:00.500000-09:30", "2024-01-01T00:00:00.5-09:30"),
     ("2024-01-01T23:59:59.000001+14:00", "2024-01-01T23:59:59.000001+14:00"),
     ("0001-01-01T00:00:00-14:00", "0001-01-01T00:00:00-14:00")],
)  # fmt: skip
def test_how_moments_are_written(text: str, written: str) -> None:
    assert datetime_text(read_datetime(text)) == written


def test_moments_at_the_ends_of_the_calendar() -> None:
    assert within_utc(read_datetime("9999-12-31T23:59:59.999999Z"))
    late = datetime.timezone(datetime.timedelta(hours=-1))
    assert not within_utc(datetime.datetime(9999, 12, 31, 23, 30, tzinfo=late))


@pytest.mark.parametrize(
    ("text", "written"),
    [("PT0S", "PT0S"), ("-PT0S", "PT0S"), ("P0D", "PT0S"), ("PT90M", "PT1H30M"), ("PT36H", "P1DT12H"), ("P2D", "P2D"),
     ("PT0.5S", "PT0.5S"), ("-P1DT0.000001S", "-P1DT0.000001S"), ("P1DT25H61M61S", "P2DT2H2M1S"),
     ("P999999999D", "P999999999D"), ("-P999999999D", "-P999999999D"), ("PT100000S", "P1DT3H46M40S")],
)  # fmt: skip
def test_how_durations_are_written(text: str, written: str) -> None:
    assert duration_text(read_duration(text)) == written


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "-P", "P1DT", "1D", "P1", "PT1", "P1H", "PT1D", "P1W", "P1Y", "P1M", "PT1M1H", "PT1S1M", "PT1H1H",
     "P1D1D", "P-1D", "PT-5S", "+PT5S", "--PT5S", "PT5,5S", "PT.5S", "PT5.S", "PT0.1234567S", "PT1.5M", "P1.5D",
     "pt5s", " PT5S", "PT5S ", "PT5S\n", "P٥D", "PT²S", "P1000000000D", "P999999999DT0.000001S", "P" + "9" * 30 + "D",
     "PTS", "PD", "PTT5S", "P1DT5S5S", "P" + "1" * 10**5 + "D"],
)  # fmt: skip
def test_what_spells_no_duration(text: str) -> None:
    with pytest.raises(Misspelt):
        read_duration(text)
