import ConfigurationFiles
import ConfigurationValues
import Testing

@Suite("The time zone of reports in the catalog")
struct ReportTimeZoneTests {
    @Test(
        "a zone exists and is always whole hours from UTC, otherwise the fault names its line",
        arguments: [
            ("Europe/Berlin", nil), ("America/New_York", nil), ("Pacific/Auckland", nil),
            ("UTC", nil),
            ("Europe/Bern", "is 'Europe/Bern', which is not a time zone"),
            ("GMT+2", "is 'GMT+2', which is not a time zone"),
            ("''", "is '', which is not a time zone"),
            ("Asia/Kolkata", "is Asia/Kolkata, which is not always whole hours from UTC"),
            ("Asia/Kathmandu", "is Asia/Kathmandu, which is not always whole hours from UTC"),
            ("Australia/Lord_Howe", "is Australia/Lord_Howe, which is not always whole hours"),
            ("[UTC]", "catalog.yaml:2"),
        ] as [(String, String?)])
    func faults(_ zone: String, _ fault: String?) throws {
        let pipelines = try TemporaryPipelines([
            "catalog.yaml": "apps: {}\nreport_time_zone: \(zone)\n"
        ])
        let found = pipelines.read { $0.check() }.map(\.description)
        #expect(found.count == (fault == nil ? 0 : 1), "\(found)")
        guard let fault else { return }
        #expect(found.first?.contains("catalog.yaml:2") == true, "\(found)")
        #expect(found.first?.contains(fault) == true, "\(found)")
    }

    @Test("days are in UTC without the key, and in zones that never differ from it")
    func defaults() throws {
        for text in ["apps: {}\n", "report_time_zone: Etc/UTC\n", "report_time_zone: UTC\n"] {
            let pipelines = try TemporaryPipelines(["catalog.yaml": text])
            let zone = try pipelines.read { directory throws(ConfigurationError) in
                try directory.catalog().reportTimeZone
            }
            #expect(zone == .utc && zone.isUTC && zone.name == "UTC", "\(text)")
        }
    }

    @Test("the distance changes with summer time, and holds before 2020 and after 2100")
    func offsets() throws {
        let zone = try ReportTimeZone(named: "Europe/Berlin")
        // 2026-03-29T01:00:00Z and 2026-10-25T01:00:00Z
        for (hour, offset) in [
            (492_984, 1), (492_985, 2), (498_024, 2), (498_025, 1), (0, 1), (2_000_000, 1),
        ] as [(Int64, Int64)] {
            #expect(zone.offset(at: hour) == offset, "\(hour)")
        }
    }
}
