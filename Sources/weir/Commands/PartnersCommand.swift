import ArgumentParser
import ConfigurationValues
import Deliveries
import Engine
import EventLog
import Foundation
import HTTPClient
import History
import JSON
import Program
import Reports
import Store
import Streams

struct PartnersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "partners", abstract: "Lists partners, and previews the requests to them.",
        subcommands: [PartnersListCommand.self, PartnersPreviewCommand.self])
}

struct PartnersListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the partners of the configuration with the counts of their deliveries.")

    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let partners = try pipelines.directory(of: data).partners()
        try BufferedOutput.print(
            PartnersReport(partners, data.existingDeliveryStores()), as: format)
    }
}

struct PartnersPreviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Shows the request to a partner for a postback; sends nothing.",
        discussion: """
            The postback is a document of partner-postbacks. --postback takes a file in the form of the topic or \
            of weir read, or the document's id in deliveries.sqlite. By default, the command uses the newest \
            document for that partner in the topic. Secrets are masked and need not exist. The document can be \
            one for another partner.

              weir partners preview acme
              weir partners preview acme --postback document.json
              weir read --topic partner-postbacks | tail -1 | weir partners preview acme --postback -
            """)

    @Argument(help: "The name of the partner.")
    var name: String
    @Option(
        help: ArgumentHelp(
            "A file with the document, - for standard input, or the document's id.",
            valueName: "file|id"))
    var postback: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let partners = try pipelines.directory(of: data).partners()
        guard let partner = partners.first(where: { $0.name == name }) else {
            throw CommandError.failure(
                "no partner '\(name)' in \(pipelines.directory(of: data).path): its partners are "
                    + partners.map(\.name).joined(separator: ", "))
        }
        let preview = try PartnerPreview(
            of: document(), for: partner, timestampSeconds: Int64(Date().timeIntervalSince1970))
        guard let request = preview.request else {
            throw CommandError.failure("Weir would send nothing: \(preview.fault ?? "")")
        }
        if partner.delivery.isOff {
            Console.write("\(name) is off: its file has no url, so Weir sends nothing to it")
        }
        try BufferedOutput.print(RequestReport(request: request), as: format)
    }
}

struct PartnersReport: Report {
    private struct Line {
        var partner: Partner
        var counts: [DeliveryState: Int]
        var disabled: DisabledPartner?
        var rest: PartnerRest?
    }

    private let lines: [Line]

    init(_ partners: [Partner], _ stores: [DeliveryStore]) throws {
        var counts: [String: [DeliveryState: Int]] = [:]
        var disabled: [DisabledPartner] = []
        var resting: [String: PartnerRest] = [:]
        for store in stores {
            for (partner, state, count) in try store.counts() {
                counts[partner, default: [:]][state, default: 0] += count
            }
            disabled += try store.disabledPartners()
            resting.merge(try store.restingPartners()) {
                $0.untilMilliseconds > $1.untilMilliseconds ? $0 : $1
            }
        }
        lines = partners.map { partner in
            Line(
                partner: partner, counts: counts[partner.name] ?? [:],
                disabled: disabled.first { $0.name == partner.name }, rest: resting[partner.name])
        }
    }

    var table: String {
        guard !lines.isEmpty else { return "no partners\n" }
        let head: [ReportColumn<Line>] = [
            .text("partner") { $0.partner.name },
            .text("trust") { Self.trust($0.partner).joined(separator: ",") },
            .text("method") { $0.partner.delivery.method.rawValue },
            .text("url") { Self.url($0.partner) },
        ]
        return TextTable(lines, head + Self.counts + [.text("note", Self.note)]).text
    }

    private static let counts: [ReportColumn<Line>] = DeliveryState.allCases.map { state in
        .number(state.rawValue) { $0.counts[state] ?? 0 }
    }

    private static func trust(_ partner: Partner) -> [String] {
        partner.trust.map(\.rawValue).sorted()
    }

    /// Nil when its postbacks are not sent yet.
    private static func url(_ partner: Partner) -> String? {
        partner.delivery.isOff ? nil : partner.delivery.url.text
    }

    private static func note(_ line: Line) -> String {
        if line.partner.delivery.isOff { return "off: its file has no url" }
        if let disabled = line.disabled {
            return
                "disabled: it answered \(disabled.status); see weir deliveries retry --partner \(line.partner.name)"
        }
        guard let rest = line.rest else { return "" }
        let time = UTC.text(milliseconds: rest.untilMilliseconds)
        return switch rest.cause {
        case .asked: "asked for a pause until \(time)"
        case .away: "cannot be reached; next attempt at \(time)"
        }
    }

    func write(to json: inout JSONText) {
        json.objects(lines) { line, json in
            json.member("partner", line.partner.name)
            json.member("trust", Self.trust(line.partner))
            json.member("method", line.partner.delivery.method.rawValue)
            json.member("url", Self.url(line.partner))
            json.members(of: line, Self.counts)
            json.member("disabled", line.disabled != nil)
            json.member("rests_because", line.rest?.cause.rawValue)
            json.member(
                "rests_until", line.rest.map { UTC.text(milliseconds: $0.untilMilliseconds) })
        }
    }
}

extension PartnersPreviewCommand {
    /// The document of `--postback`; without it, the newest for the partner.
    private func document() throws -> DeliveryDocument {
        guard let parser = JSONParser() else {
            throw CommandError.failure("not enough memory for a JSON parser")
        }
        let bytes: [UInt8] =
            switch postback {
            case nil: try newest(parser)
            case let id? where id.wholeMatch(of: /[0-9a-f]{32}/) != nil: try stored(id)
            case let file?: try unwrapped(InputFile.contents(of: file, or: ", or an id"), parser)
            }
        do throws(UnreadableDocument) {
            return try DeliveryDocument(bytes, parser: parser)
        } catch {
            throw CommandError.failure(
                "\(postback ?? "the newest record") is not a document of partner-postbacks: \(error)"
            )
        }
    }

    private func stored(_ id: String) throws -> [UInt8] {
        for store in try data.deliveryStores() {
            if let last = try store.history(of: id).last { return last.document }
        }
        throw CommandError.failure("no delivery of '\(id)' in \(data.listed): give a file")
    }

    /// The value in a record's line; other JSON is already the document.
    private func unwrapped(_ bytes: [UInt8], _ parser: JSONParser) throws -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            guard let value = try? parser.parse(bytes).member("value"), value.isObject else {
                return Array(bytes)
            }
            var json = JSONText()
            json.value(value)
            return json.bytes
        }
    }

    private func newest(_ parser: JSONParser) throws -> [UInt8] {
        let topic = try pipelines.directory(of: data).partnerPostbacksTopic()
        let log = try log.open(.existing, data, pipelines)
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        var newest: (timestamp: Int64, bytes: [UInt8])?
        var reading = try TopicReading(reader, partition: nil, from: nil, to: nil)
        try reading.readRange { record in
            guard record.timestampMilliseconds >= newest?.timestamp ?? .min,
                let bytes = record.value,
                let partner = try? parser.parse(bytes).member("partner")?.string,
                partner.elementsEqual(name.utf8)
            else { return }
            newest = (record.timestampMilliseconds, Array(bytes))
        }
        guard let newest else {
            throw CommandError.failure(
                "\(topic) of \(log.address) has no document for '\(name)': give --postback a file")
        }
        return newest.bytes
    }
}

/// A request to a partner, with masked secrets.
struct RequestReport: Report {
    let request: OutgoingRequest

    var table: String {
        let noAddress = Partner.Delivery.noAddress
        let url =
            request.url.hasPrefix(noAddress)
            ? "(no url is set)" + request.url.dropFirst(noAddress.count) : request.url
        var lines = ["\(request.method) \(url)"]
        lines += request.headers.map { "\($0.name): \($0.value)" }
        if let body = request.body { lines += ["", String(decoding: body, as: UTF8.self)] }
        return lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("method", request.method)
            json.member(
                "url", request.url.hasPrefix(Partner.Delivery.noAddress) ? nil : request.url)
            json.objects("headers", request.headers) { header, json in
                json.member("name", header.name)
                json.member("value", header.value)
            }
            json.member("body", request.body.map { String(decoding: $0, as: UTF8.self) })
        }
    }
}
