import ConversionModels
import Foundation
import JSON
import Streams
import TestKit

@testable import ConfigurationFiles
@testable import ConfigurationValues
@testable import Deliveries
@testable import HTTPClient

private func root(_ text: String, of file: String) throws(ConfigurationError) -> ConfigurationNode {
    try YAMLFiles.content(text, of: file) ?? ConfigurationNode(ofEmpty: file)
}

/// `models`: the input is the file of app 7.
@Sendable func models() throws -> FuzzTarget.Run {
    { bytes in
        let read = try same("a model") {
            try ConversionModelFile.model(
                root(String(decoding: bytes, as: UTF8.self), of: "7.yaml"),
                fileApp: 7)
        }
        guard case .success(let model) = read else { return }
        let recorded = try ConversionModel(canonicalText: model.canonicalText)
        try require(
            recorded.canonicalText == model.canonicalText, "recorded, another model: \(recorded)")
        for version in model.versions {
            // Some of the 64 values, so that a run is short: those that most models list, and two others.
            let others = [bytes.count % 64, Int(bytes[bytes.count / 2]) % 64]
            for fine in Set([0, 1, 2, 3, 63] + others).sorted() {
                for isLeast in [true, false] {
                    let state = version.state(of: fine, isLeast: isLeast)
                    try version.checkEncoding(of: state, within: fine)
                }
            }
            for window in 0...2 {
                for value in CoarseValue.allCases {
                    try version.checkEncoding(of: value, window: window)
                }
            }
        }
    }
}

extension ConversionModelVersion {
    /// The least that a fine value says, or the most.
    fileprivate func state(of fine: Int, isLeast: Bool) -> ConversionState {
        var state = ConversionState(day: day(fine: fine) ?? 0, flags: flags(fine: fine))
        for event in decode(fine: fine) {
            state.eventCounts[event.event] =
                (isLeast ? event.countMin : event.countMax)
                - (state.flags.contains(event.event) ? 1 : 0)
            state.revenueMicros[event.event] =
                isLeast ? event.revenueMinMicros : event.revenueMaxMicros
        }
        return state
    }

    fileprivate func checkEncoding(of state: ConversionState, within fine: Int) throws {
        let encoded = try encode(state)
        try require(try encode(state) == encoded, "encoded again, another value")
        try require(
            flags(fine: encoded) == state.flags && day(fine: encoded) == day(fine: fine),
            "\(state) became \(encoded), of other flags or another day")
        for event in decode(fine: encoded) {
            let isCounted = (0...63).contains { value in
                decode(fine: value).contains { $0.event == event.event && $0.countMax > 0 }
            }
            let count =
                state.eventCounts[event.event, default: 0]
                + (state.flags.contains(event.event) ? 1 : 0)
            let revenue = state.revenueMicros[event.event, default: 0]
            try require(
                !isCounted || (event.countMin...event.countMax).contains(count),
                "\(state) became \(encoded), which says \(event)")
            try require(
                (event.revenueMinMicros...event.revenueMaxMicros).contains(revenue),
                "\(state) became \(encoded), which says \(event)")
        }
    }

    fileprivate func checkEncoding(of value: CoarseValue, window: Int) throws {
        let decoded = decode(coarse: value, sequenceIndex: window)
        guard !decoded.isEmpty else { return }
        let state = ConversionState(
            eventCounts: decoded.reduce(into: [:]) { $0[$1.event] = $1.countMin },
            revenueMicros: decoded.reduce(into: [:]) { $0[$1.event] = $1.revenueMinMicros })
        let encoded = try encodeCoarse(state, sequenceIndex: window)
        for event in decode(coarse: encoded, sequenceIndex: window) {
            let revenue = state.revenueMicros[event.event, default: 0]
            try require(
                (event.revenueMinMicros...event.revenueMaxMicros).contains(revenue),
                "\(state) became \(encoded), which says \(event)")
        }
    }
}

/// `templates`: the file of the partner `acme`, and after a line `%%` the document that is sent; without one, two
/// documents are.
@Sendable func templates() throws -> FuzzTarget.Run {
    let parser = try JSONParser.make()
    return { bytes in
        let parts = Array(bytes).split(separator: Array("\n%%\n".utf8), maxSplits: 1)
        let text = String(decoding: parts.first ?? [], as: UTF8.self)
        let read = try same("a partner") {
            try PartnerFile.partner(
                root(text, of: "acme.yaml"), fileName: "acme")
        }
        guard case .success(let partner) = read else { return }
        let made = try same("a template") {
            _ = try RequestTemplate(partner.delivery)
            return true
        }
        guard case .success = made else { return }
        let template = try RequestTemplate(partner.delivery)
        let documents = parts.count == 2 ? [Array(parts[1])] : SentDocuments.all
        for text in documents {
            guard let document = try? DeliveryDocument(text, parser: parser) else { continue }
            let sent = try same("a request") { try template.request(document) }
            guard case .success(let request) = sent else { continue }
            try check(request, of: partner, to: template.address, parser)
        }
    }
}

private func check(
    _ request: OutgoingRequest, of partner: Partner, to address: PartnerAddress,
    _ parser: JSONParser
) throws {
    try require(
        request.url.hasPrefix(address.origin + "/"),
        "\(request.url) leads away from \(address.origin)")
    try require(
        request.url.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") },
        "no address: \(request.url)")
    for header in request.headers {
        try require(header.value.isHeaderValue, "\(header.name) ends its line")
    }
    let isJSON: Bool =
        switch partner.delivery.body {
        case .json?, .jsonTemplate?: true
        default: false
        }
    guard isJSON, let body = request.body else { return }
    try body.withUnsafeBytes { bytes in
        do throws(JSONFault) { _ = try parser.parse(bytes) } catch {
            throw Contradiction("the body is no JSON: \(error)")
        }
    }
}

/// Documents as the topic `partner-postbacks` has them.
private enum SentDocuments {
    static let all = [install, reEngagement].map { Array($0.utf8) }

    private static let install = #"""
        {"id":"2d0136c18b5007e0d205543c5bf2f427","revision":1,"partner":"acme","postback":{"version":"4.0",
        "ad_network_id":"com.example","source_identifier":"5239","app_id":525463029,"transaction_id":"../6a?&#",
        "redownload":false,"source_domain":"example.com","fidelity_type":1,"did_win":true,"conversion_value":63,
        "country_code":null,"postback_sequence_index":0,"attribution_signature":"MEUC+/="},"conversion":{"value":63,
        "coarse":null,"model":"v1","events":[{"name":"purchase","count_min":3,"count_max":5}],
        "revenue":{"min":50,"max":99.99,"currency":"USD"},"ambiguous":false},"install_window":{
        "earliest":"2026-11-17T05:28:00Z","latest":"2026-11-20T05:28:00Z"},"received_at":"2026-11-21T05:28:00Z",
        "origin":{"topic":"postbacks","partition":2,"offset":1047},"campaign":{"name":"Autumn\r\n, \"w\u0000eb",
        "network":"Example Network","app":"..","media_source":"a/../b@c","ad_network_id":"com.example",
        "campaign":"5239","app_id":525463029,"source_app_id":0}}
        """#

    private static let reEngagement = #"""
        {"id":"f0c894aa98a6449bfd1c0d71548ed319","revision":2,"partner":"acme","postback":{"jws_string":"eyJh.eyJw.c2",
        "ad_interaction_type":"click","conversion_value":24,"country_code":"US","postback_identifier":"85546EB7",
        "ad_network_identifier":"development.adattributionkit","source_identifier":"1234",
        "advertised_item_identifier":10738027756,"conversion_type":"re-engagement","did_win":true},"conversion":{
        "value":24,"coarse":null,"model":null,"events":[],"revenue":null,"ambiguous":false},"install_window":{
        "earliest":null,"latest":null},"received_at":"2026-11-21T05:40:00Z","origin":{"topic":"postbacks",
        "partition":3,"offset":512},"campaign":{"name":null,"ad_network_id":"development.adattributionkit"}}
        """#
}

/// The files of a configuration that one input can be.
private let fileNames =
    ["catalog", "collector", "kafka", "partner-postbacks", "watch"].map { "\($0).yaml" }
    + allStreams.map { "\($0.streamName).yaml" }
    + ["costs/a.yaml", "partners/acme.yaml", "rates.csv", "reports/a.yaml"]

/// `configuration`: the first line of the input is the name of a file, the rest its text.
@Sendable func configuration() throws -> FuzzTarget.Run {
    let files = try TemporaryDirectory()
    let pipelines = PipelineDirectory(files.path)
    return { bytes in
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let name = fileNames.first(where: { bytes[..<end].elementsEqual($0.utf8) })
        else { return }
        let text = bytes[(end + 1)...]
        // Files that it names are not opened: a device could be among them. Nor are secrets hashed, each of which takes
        // a tenth of a second.
        guard !text.contains(UInt8(ascii: "/")), !text.contains(Array("secrets".utf8)) else {
            return
        }
        let path = try files.write(text, to: name)
        defer { unlink(path) }
        let faults = try same("a file") { pipelines.check().map(\.description) }
        let lines =
            String(decoding: text, as: UTF8.self).unicodeScalars.count {
                ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains($0)
            } + 1
        for fault in pipelines.check() {
            try require(fault.file.hasPrefix(files.path), "a fault of another file: \(fault)")
            try require(fault.line.map { (1...lines).contains($0) } ?? true, "of no line: \(fault)")
            try require(!fault.description.contains(where: \.isNewline), "several lines: \(fault)")
        }
        guard case .success = faults else { throw Contradiction("no faults and no words") }
    }
}

/// What Weir ships, each file under its name.
@Sendable func shippedFiles() throws -> [[UInt8]] {
    try fileNames.compactMap { name in
        let path = Repository.path("pipelines/\(name)")
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        // Comments are most of it. Nor do inputs have paths and secrets.
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { line in
            !line.hasPrefix("#") && !["/", "secrets"].contains { line.contains($0) }
        }
        return Array("\(name)\n\(lines.joined(separator: "\n"))\n".utf8)
    }
}
