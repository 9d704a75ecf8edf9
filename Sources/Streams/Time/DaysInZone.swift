import ConfigurationValues

/// Days of a time zone. A day has 24 hours, or 23 or 25 when its clock changes.
extension ReportTimeZone {
    /// The local time of an hour, as hours since 1970.
    private func clock(_ hour: Int64) -> Int64 { hour + offset(at: hour) }

    /// The first hour at which the clock shows a time. If the clock skips the time, the next hour.
    private func hour(atClock clock: Int64) -> Int64 {
        guard !isUTC else { return clock }
        return (clock - 24...clock + 24).first { self.clock($0) >= clock } ?? clock
    }

    /// Days since 1970.
    package func dayNumber(milliseconds: Int64) -> Int64 {
        dayNumber(of: Hour(containing: milliseconds))
    }

    private func dayNumber(of hour: Hour) -> Int64 {
        // The quotient rounds towards the past.
        Hour(hoursSince1970: clock(hour.hoursSince1970)).startOfDay.hoursSince1970 / 24
    }

    /// The beginning of a day, in milliseconds since 1970.
    ///
    /// - Parameter number: days since 1970.
    package func start(ofDay number: Int64) -> Int64 {
        Hour(hoursSince1970: hour(atClock: number * 24)).startMilliseconds
    }

    /// The beginning of the day of an instant.
    package func startOfDay(milliseconds: Int64) -> Int64 {
        start(ofDay: dayNumber(milliseconds: milliseconds))
    }

    /// The day of an hour, as `2026-11-21`.
    package func day(of hour: Hour) -> String {
        Hour(hoursSince1970: dayNumber(of: hour) * 24).day
    }

    package func day(milliseconds: Int64) -> String { day(of: Hour(containing: milliseconds)) }

    /// The beginning of a day such as `2026-11-21` and of the next one; nil for another text.
    package func bounds(ofDay text: String) -> (start: Int64, end: Int64)? {
        guard text.utf8.count == 10, let midnight = UTC.milliseconds(text: text) else { return nil }
        let number = Hour(containing: midnight).hoursSince1970 / 24
        return (start(ofDay: number), start(ofDay: number + 1))
    }

    /// Reads an instant like `UTC`. A day means its beginning in the zone.
    package func milliseconds(text: String) -> Int64? {
        bounds(ofDay: text)?.start ?? UTC.milliseconds(text: text)
    }

    /// The day that begins at an instant, otherwise the instant in UTC.
    package func text(milliseconds: Int64) -> String {
        startOfDay(milliseconds: milliseconds) == milliseconds
            ? day(milliseconds: milliseconds) : UTC.text(milliseconds: milliseconds)
    }

    /// The local time of an instant, as `13:00`.
    package func clockText(milliseconds: Int64) -> String {
        let hour = Hour(containing: milliseconds).hoursSince1970
        let shown = milliseconds + offset(at: hour) * Hour.milliseconds
        return String(UTC.text(milliseconds: shown).dropFirst(11).prefix(5))
    }

    /// The instant some days later, or earlier, when the clock shows the same time.
    package func shifted(milliseconds: Int64, days: Int64) -> Int64 {
        let hour = Hour(containing: milliseconds)
        let found = self.hour(atClock: clock(hour.hoursSince1970) + days * 24)
        return milliseconds + (found - hour.hoursSince1970) * Hour.milliseconds
    }
}
