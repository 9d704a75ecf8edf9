import ConfigurationValues

extension ReportTimeZone {
    /// The zone of days and of times, for readers of reports.
    package var statement: String {
        isUTC
            ? "Days and times are UTC."
            : "Days are those of \(name), times with Z are UTC. Imported costs keep the day of their report. Days of cohorts, estimated installs and budgets are UTC."
    }
}
