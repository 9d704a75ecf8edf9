import ArgumentParser
import Foundation
import Inspection
import PartnerPostbacks
import Pipelines
import Streams

/// `weir partners`
struct PartnersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "partners",
        abstract: "Who is sent postbacks, and what would be sent to them.",
        subcommands: [PartnersListCommand.self, PartnersPreviewCommand.self])
}

/// `weir partners list`
struct PartnersListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the partners of the configuration, and how many deliveries each has.")

    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var data: DataOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let partners = try pipelines.directory.partners()
        let paths = data.directories.map(DeliveryStore.path(in:)).filter {
            FileManager.default.fileExists(atPath: $0)
        }
        let stores = try paths.map { try DeliveryStore(existing: $0) }
        let output = BufferedOutput()
        try output.write(PartnersReport(partners, stores).text(format))
        try output.flush()
    }
}

/// `weir partners preview`
struct PartnersPreviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Shows what would be sent to a partner for a postback; sends nothing.",
        discussion: """
            The postback is a document of partner-postbacks: from a file, as the topic or weir read has \
            it, by its id from deliveries.sqlite, or without --postback the newest one for that partner \
            in the topic. Secrets are masked and need not be there. Whose document it is does not \
            matter.

              weir partners preview acme
              weir partners preview acme --postback document.json
              weir read --topic partner-postbacks | tail -1 | weir partners preview acme --postback -
            """)

    @Argument(help: "Name of the partner.")
    var name: String
    @Option(
        help: ArgumentHelp(
            "A file with the document, - for standard input, or the document's id.",
            valueName: "file|id"))
    var postback: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let partners = try pipelines.directory.partners()
        guard let partner = partners.first(where: { $0.name == name }) else {
            throw CommandError.failure(
                "no partner '\(name)' in \(pipelines.directory.path): there are \(partners.map(\.name).joined(separator: ", "))"
            )
        }
        let source = PreviewSource(partner: name, data: data, log: log)
        let preview = try PartnerPreview(
            of: source.document(postback, pipelines: pipelines.directory), for: partner,
            timestampSeconds: Int64(Date().timeIntervalSince1970))
        guard let request = preview.request else {
            throw CommandError.failure("nothing would be sent: \(preview.fault ?? "")")
        }
        if partner.delivery.isOff {
            Notice.write("\(name) is off: its file has no url, and nothing is sent to it")
        }
        let output = BufferedOutput()
        try output.write(RequestReport(request).text(format))
        try output.flush()
    }
}
