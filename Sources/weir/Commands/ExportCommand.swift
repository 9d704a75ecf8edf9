import ArgumentParser
import Foundation
import Inspection
import Pipelines

/// `weir export`
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints decoded postbacks with the column names of a measurement service.",
        discussion: """
            One row a postback of SKAdNetwork that a partner got, in its best copy, with the names that \
            the catalog has today. An existing warehouse table of that service takes the rows; \
            docs/export-profiles.md says what each column is and which are not there.
            """)

    enum Subject: String, ExpressibleByArgument, CaseIterable {
        /// What `weir-postbacks` decoded for partners.
        case postbacks
    }

    @Argument(help: "What to export: postbacks.")
    var subject: Subject
    @Option(
        help:
            "Whose column names: \(ExportProfile.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var profile: String
    @Option(help: "Only what this partner got (default: what any partner got).")
    var partner: String?
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "csv or ndjson (WEIR_FORMAT; default: csv).")
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try Environment().format(format, default: ExportFormat.csv)
        let output = BufferedOutput()
        let written = try StoreSet(directories: data.directories).export(
            query(), catalog: pipelines.catalog(), as: format, isRaw: csv.isSet(),
            to: output.write(bytes:))
        try output.flush()
        let words = notices(omissions: written.omissions, isEmpty: written.rowCount == 0)
        for notice in words { Notice.write(notice) }
    }

    /// Words on the rows that are left out.
    func notices(omissions: ExportOmissions, isEmpty: Bool) -> [String] {
        var notices: [String] = []
        if omissions.adAttributionKit > 0 {
            notices.append(
                "\(omissions.adAttributionKit) postbacks of AdAttributionKit are left out: "
                    + "the profile has no columns for them")
        }
        if omissions.otherTimes > 0 {
            notices.append(
                "\(omissions.otherTimes) postbacks are left out: they did not arrive in the time "
                    + "that --since and --until ask for")
        }
        if isEmpty, notices.isEmpty {
            notices.append(
                "no postback was decoded for a partner: exports hold what partners of "
                    + "\(pipelines.directory.path)/partners got")
        }
        return notices
    }

    func query() throws -> ExportQuery {
        guard let profile = ExportProfile(rawValue: profile) else {
            let known = ExportProfile.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError.usage("no profile '\(profile)': there are \(known)")
        }
        let times = try times.milliseconds()
        return ExportQuery(
            profile: profile, partner: partner, sinceMilliseconds: times.since,
            untilMilliseconds: times.until)
    }
}
