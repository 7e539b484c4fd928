/// Functions on dates and durations.
extension Reference {
    static let dateFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "clock",
            syntax: [
                "clock([format[, zone]])"
            ],
            summary: """
                Returns the time of the statement: ISO 8601 in UTC, or in a format \
                and a time zone.
                """,
            details: [
                "Milliseconds are left out if they are zero, as in all texts of dates.",
                """
                All calls in one statement return the same time. For formats and zones see \
                `date_format`.
                """,
                """
                In a subscription, this peer sends the time in place of the call, and renews \
                it after each `subscription_clock_interval_ms`.
                """,
            ],
            examples: [
                .value("starts_with(clock(), clock('%Y-'))", "true"),
                .value("type(clock('%Y', 'Europe/Berlin'))", "\"string\""),
            ]),
        ReferenceEntry(
            .function, "date_add",
            syntax: [
                "date_add(date, unit, count)"
            ],
            summary: "Returns the date that is a number of units later.",
            details: [
                """
                A date is a text in ISO 8601 with a zone, or a number of milliseconds \
                since 1970; the result has the same form, and a text is in UTC. A text \
                without a zone yields MISSING, as does a result outside of the years 1 to \
                9999. A day beyond the end of a month becomes its last day.
                """,
                """
                Units are year, quarter, month or mon, week, day, hour, minute or min, \
                second or sec, and millisecond, millis or ms. Unit and count may be in \
                either order, in `date_sub` and `date_range`, too.
                """,
            ],
            examples: [
                .value(
                    "date_add('2026-01-31T10:00:00Z', 'month', 1)", "\"2026-02-28T10:00:00+00:00\""),
                .value("date_add(0, 'hour', 2)", "7200000"),
                .value("date_add('2026-01-31', 'day', 1)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "date_sub",
            syntax: [
                "date_sub(date, unit, count)"
            ],
            summary: """
                Returns the date that is a number of units earlier; the opposite of \
                `date_add`.
                """,
            examples: [
                .value(
                    "date_sub('2026-03-31T10:00:00Z', 'month', 1)", "\"2026-02-28T10:00:00+00:00\"")
            ]),
        ReferenceEntry(
            .function, "date_diff",
            syntax: [
                "date_diff(later, earlier, unit)"
            ],
            summary: """
                Returns the number of complete units from the second date to the \
                first one; negative if the second is later.
                """,
            examples: [
                .value("date_diff('2026-03-01T00:00:00Z', '2026-01-31T00:00:00Z', 'month')", "1"),
                .value("date_diff(0, 7200000, 'hour')", "-2"),
            ]),
        ReferenceEntry(
            .function, "date_part",
            syntax: [
                "date_part(date, part)"
            ],
            summary: "Returns a part of a date in UTC.",
            details: [
                """
                The parts are the units of `date_add`, and weekday (1 is Monday, 7 is \
                Sunday), monthname, and timezone or tz, which is the offset of the text. A \
                week is that of ISO 8601.
                """
            ],
            examples: [
                .value("date_part('2026-03-01T10:30:00+02:00', 'hour')", "8"),
                .value("date_part('2026-03-01T10:30:00Z', 'weekday')", "7"),
                .value("date_part('2026-03-01T10:30:00Z', 'monthname')", "\"March\""),
                .value("date_part('2026-03-01T10:30:00+02:00', 'tz')", "\"+02:00\""),
            ]),
        ReferenceEntry(
            .function, "date_trunc",
            syntax: [
                "date_trunc(date, unit)"
            ],
            summary: """
                Returns the start of the unit that contains a date, in UTC; weeks \
                begin on Monday.
                """,
            examples: [
                .value(
                    "date_trunc('2026-03-18T10:30:00Z', 'month')", "\"2026-03-01T00:00:00+00:00\""),
                .value(
                    "date_trunc('2026-03-18T10:30:00Z', 'week')", "\"2026-03-16T00:00:00+00:00\""),
            ]),
        ReferenceEntry(
            .function, "date_format",
            syntax: [
                "date_format(date, format[, zone])"
            ],
            summary: "Returns a date as text in a format, in UTC or in a time zone.",
            details: [
                """
                A format with a percent sign has specifiers, such as `%Y` (year), `%m` \
                (month), `%d` (day), `%H`, `%M` and `%S` (time of day), `%B` (name of the \
                month), `%A` (name of the weekday) and `%z` (offset). Any other format has \
                words: `YYYY`, `MM`, `DD`, `hh`, `mm`, `ss`, `sss` and `TZD`. A zone is a \
                name such as `Europe/Berlin`, or an offset. A format has at most 1024 \
                bytes; an unknown specifier or zone yields MISSING.
                """
            ],
            examples: [
                .value("date_format('2026-03-01T10:30:00Z', '%Y-%m')", "\"2026-03\""),
                .value(
                    "date_format(0, 'YYYY-MM-DD hh:mm:ss TZD')", "\"1970-01-01 00:00:00 +00:00\""),
                .value(
                    "date_format('2026-07-01T10:30:00Z', '%H:%M', 'Europe/Berlin')", "\"12:30\""),
            ]),
        ReferenceEntry(
            .function, "date_cast",
            syntax: [
                "date_cast(date[, format])"
            ],
            summary: """
                Returns a date in ISO 8601, read in a format if there is one; a \
                number remains milliseconds.
                """,
            details: [
                """
                Without a zone in the format, the text is in UTC. A text that does not \
                match yields MISSING.
                """
            ],
            examples: [
                .value("date_cast('2026-03-01T10:30:00+02:00')", "\"2026-03-01T08:30:00+00:00\""),
                .value("date_cast('01.03.2026', '%d.%m.%Y')", "\"2026-03-01T00:00:00+00:00\""),
                .value("date_cast('today')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "date_range",
            syntax: [
                "date_range(start, end, unit, count)"
            ],
            summary: """
                Returns every count-th unit from the start up to, but not including, \
                the end.
                """,
            details: [
                """
                Dates are counted from the start: January 31 is followed by the last day \
                of February and by March 31. A count of zero, or of the wrong sign, yields \
                an empty array. More than 1048576 dates are an error.
                """
            ],
            examples: [
                .value(
                    "date_range('2026-01-31T00:00:00Z', '2026-04-01T00:00:00Z', 'month', 1)",
                    """
                    ["2026-01-31T00:00:00+00:00","2026-02-28T00:00:00+00:00","2026-03-31T00:00:00+00:00"]
                    """),
                .value("date_range(0, 3000, 'second', 1)", "[0,1000,2000]"),
            ]),
        ReferenceEntry(
            .function, "tz_offset",
            syntax: [
                "tz_offset(zone[, date])"
            ],
            summary: """
                Returns the offset of a time zone from UTC, at the time of the \
                statement or at a date.
                """,
            examples: [
                .value("tz_offset('Europe/Berlin', '2026-07-01T00:00:00Z')", "\"+02:00\""),
                .value("tz_offset('Nowhere', 0)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "duration_cast",
            syntax: [
                "duration_cast(text)"
            ],
            summary: "Returns the milliseconds of a duration.",
            details: [
                """
                The units are d, h, m, s, ms, us or µs, and ns; numbers may have \
                fractions, and the sum is cut to milliseconds.
                """
            ],
            examples: [
                .value("duration_cast('1h30m')", "5400000"),
                .value("duration_cast('-1.5s')", "-1500"),
                .value("duration_cast('soon')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "duration_format",
            syntax: [
                "duration_format(milliseconds)"
            ],
            summary: "Returns a number of milliseconds as a duration.",
            examples: [
                .value("duration_format(5400000)", "\"1h30m0s\""),
                .value("duration_format(250)", "\"250ms\""),
            ]),
    ]
}
