import EventLog
import Foundation
import Reports
import TestKit
import Testing

@testable import History

@Suite("Evidence")
struct EvidenceTests {
    /// Evidence of all of a dump of a stream; the place where it was made is gone.
    private func write(_ stream: String, dump: String? = nil) throws -> WrittenEvidence {
        let place = try MeasuredPlace(stream)
        for part in 0..<2 {
            try place.fold(place.records(150, seed: 7 + UInt64(part)), under: part)
        }
        let evidence = try WrittenEvidence()
        let explanation = try place.explainer(place.stores()).writeEvidence(
            of: DumpFigure(ReportRequest(name: dump ?? stream)), to: evidence.path
        ) { record in
            guard let value = record.folded.record.value else { return nil }
            let text = String(decoding: value, as: UTF8.self)
            guard text.contains("\"password\"") else { return nil }
            return Array(text.replacing(SampleNotifications.secret, with: "***").utf8)
        }
        #expect(explanation.addsUp)
        return evidence
    }

    private func checks(_ evidence: WrittenEvidence) throws -> [EvidenceVerifier.Check] {
        var verifier = try EvidenceVerifier(path: evidence.path)
        return try verifier.verify()
    }

    private func failures(_ evidence: WrittenEvidence) throws -> [String] {
        try checks(evidence).filter { !$0.holds }.map(\.name)
    }

    @Test("holds on a machine that has nothing but it", arguments: MeasuredPlace.streams)
    func holds(_ stream: String) throws { #expect(try failures(write(stream)).isEmpty) }

    @Test(
        "of one measure holds, and is of no other, be there any of it or not",
        arguments: ["bids", "overlay-clicks", "postbacks", "store-notifications"])
    func oneMeasure(_ stream: String) throws {
        let place = try MeasuredPlace(stream)
        try place.fold(place.records(60, seed: 11))
        let stores = try place.stores()
        let table = try stores.dump(ReportRequest(name: stream, grouping: .total))
        var known = 0
        for measure in table.measures where !MoneyByCurrency.isMoney(measure) {
            let evidence = try WrittenEvidence()
            let explanation = try place.explainer(stores).writeEvidence(
                of: DumpFigure(ReportRequest(name: stream)), measure: measure, to: evidence.path,
                measures: { _ in [measure] }
            ) { record in
                guard let value = record.folded.record.value else { return nil }
                let text = String(decoding: value, as: UTF8.self)
                guard text.contains("\"password\"") else { return nil }
                return Array(text.replacing(SampleNotifications.secret, with: "***").utf8)
            }
            #expect(explanation.addsUp && explanation.measures.map(\.name) == [measure])
            #expect(try failures(evidence).isEmpty, "\(measure)")
            if explanation.measures.first?.stored != 0 { known += 1 }
        }
        #expect(known > 0 && known < table.measures.count)
    }

    @Test(
        "of dumps of outcomes and of refused records holds too",
        arguments: ["outcomes", "rejected", "conflicts", "decoded-events", "conversion-values"])
    func otherDumps(_ dump: String) throws {
        #expect(try failures(write("postbacks", dump: dump)).isEmpty)
    }

    @Test("holds with records of other topics that do not say what they are about")
    func otherTopics() throws {
        let place = try MeasuredPlace("postbacks")
        try place.fold(place.records(100, seed: 5))
        try place.place.write("bids.yaml", "batch_records: 37\n")
        try place.place.publish("bids", WindowedStream.bids.records(100, seed: 6))
        try place.place.fold(.bids)
        let evidence = try WrittenEvidence()
        let query = ReportRequest(
            name: "rejected", conditions: [.init(column: "topic", value: "postbacks")])
        let explanation = try place.explainer(place.stores()).writeEvidence(
            of: DumpFigure(query), to: evidence.path
        ) { _ in nil }
        #expect(explanation.counted > 0)
        #expect(try failures(evidence).isEmpty)
    }

    @Test("holds with names that look alike, which are of rows of their own")
    func namesThatLookAlike() throws {
        let place = try MeasuredPlace("impressions")
        var generator = SeededGenerator(seed: 1)
        let records = ["W\u{ED}dget", "Wi\u{301}dget"].map { widget in
            OutgoingRecord(
                topic: "impressions", partition: 0, timestampMilliseconds: Samples.start,
                key: Array("k".utf8),
                headers: [
                    .init(name: "ce_type", value: Array("outbrain.listings_viewed".utf8))
                ],
                value: Array(
                    Samples.listings(of: "request \(widget.utf8.count)", &generator)
                        .replacing("\"w\"", with: "\"\(widget)\"").utf8))
        }
        try place.fold(records)
        let evidence = try WrittenEvidence()
        let explanation = try place.explainer(place.stores()).writeEvidence(
            of: DumpFigure(ReportRequest(name: "impressions")), to: evidence.path
        ) { _ in nil }
        #expect(explanation.addsUp && explanation.counted == 2)
        #expect(try failures(evidence).isEmpty)
    }

    /// Changes one file of evidence; the manifest is made to fit it unless `manifest` is false.
    private func change(
        _ evidence: WrittenEvidence, _ file: EvidenceFile, manifest isMadeToFit: Bool = true,
        _ body: (String) -> String
    ) throws {
        var files = try TarReader.files(in: Data(contentsOf: URL(fileURLWithPath: evidence.path)))
        let place = try #require(files.firstIndex { $0.name == file.rawValue })
        let before = String(decoding: files[place].bytes, as: UTF8.self)
        let after = body(before)
        #expect(after != before)
        files[place].bytes = Data(after.utf8)
        if isMadeToFit {
            var manifest = try EvidenceCoding.decode(EvidenceManifest.self, files[0].bytes)
            let entry = try #require(manifest.files.firstIndex { $0.name == file.rawValue })
            manifest.files[entry].bytes = files[place].bytes.count
            manifest.files[entry].sha256 = files[place].bytes.sha256
            files[0].bytes = try EvidenceCoding.encode(manifest, pretty: true)
        }
        try rewrite(evidence, files)
    }

    private func rewrite(
        _ evidence: WrittenEvidence, _ files: [(name: String, bytes: Data)]
    ) throws {
        #expect(FileManager.default.createFile(atPath: evidence.path, contents: nil))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: evidence.path))
        let tar = TarWriter(handle)
        for (name, bytes) in files { try tar.add(name, Data(bytes)) }
        try tar.finish()
        try handle.close()
    }

    @Test("of many records holds, with what was remembered about those of each part")
    func manyRecords() throws {
        let place = try MeasuredPlace("impressions")
        // Parts have a thousand records of a partition.
        try place.fold(place.records(6000, seed: 3))
        let evidence = try WrittenEvidence()
        let explanation = try place.explainer(place.stores()).writeEvidence(
            of: DumpFigure(ReportRequest(name: "impressions")), to: evidence.path
        ) { _ in nil }
        #expect(explanation.addsUp)
        #expect(try failures(evidence).isEmpty)
        // Without what was remembered, duplicates count.
        try change(evidence, .notes) { _ in "" }
        #expect(try failures(evidence).contains("signatures"))
    }

    @Test("takes time in proportion to its entries, of which an archive may have any number")
    func manyEntries() throws {
        let evidence = try write("bids")
        var files = try TarReader.files(in: Data(contentsOf: URL(fileURLWithPath: evidence.path)))
        files += (0..<40_000).map { ("extra-\($0)", Data()) }
        try rewrite(evidence, files)
        let began = ContinuousClock.now
        let found = try checks(evidence)
        // Each entry held against all others is 800 million comparisons.
        #expect(began.duration(to: .now) < .seconds(20))
        let fault = try #require(found.first { $0.name == "files" })
        #expect(!fault.holds)
        #expect(fault.explanation.hasPrefix("extra-0 is not in the manifest; extra-1 is not"))
        #expect(fault.explanation.hasSuffix("and 39995 more"))
    }

    @Test("whose archive says that a file has less than no bytes is no evidence")
    func negativeSize() throws {
        let evidence = try WrittenEvidence()
        var block = TarHeader(name: EvidenceManifest.name, size: 0).block
        block.replaceSubrange(124..<136, with: "-0000001000\0".utf8)
        let sum = block.reduce(0) { $0 + Int($1) } - block[148..<156].reduce(0) { $0 + Int($1) }
        let digits = String(sum + 8 * 0x20, radix: 8)
        block.replaceSubrange(148..<156, with: "00\(digits)\0 ".utf8)
        try Data(block + [UInt8](repeating: 0, count: 1024))
            .write(to: URL(fileURLWithPath: evidence.path))
        #expect(throws: ExplanationError.self) { try EvidenceVerifier(path: evidence.path) }
    }

    @Test("whose file was changed without the manifest does not hold, and names the file")
    func changedWithoutManifest() throws {
        let evidence = try write("bids")
        try change(evidence, .records, manifest: false) { $0.replacing("dsp-1", with: "dsp-2") }
        let check = try #require(try checks(evidence).first { $0.name == "files" })
        #expect(!check.holds)
        #expect(check.explanation.contains("records.ndjson"))
    }

    @Test("with a record that was changed does not hold: its signature fails")
    func changedRecord() throws {
        let evidence = try write("postbacks")
        try change(evidence, .records) {
            $0.replacing("\\\"app-id\\\":525463029", with: "\\\"app-id\\\":525463030")
        }
        let failed = try failures(evidence)
        #expect(failed.contains("aggregate"))
        #expect(!failed.contains("files"))
    }

    @Test(
        "with a record that occurs twice does not hold, at its offset or at another",
        arguments: [(3, "occurs twice"), (3000, "has the id of another record in the file")])
    func doubledRecord(offset: Int, words: String) throws {
        let evidence = try write("postbacks")
        try change(evidence, .records) { records in
            let line = records.split(separator: "\n").first {
                $0.contains("\"outcome\":\"accepted\"") && $0.contains("\"offset\":3,")
            }
            return records + (line ?? "").replacing("\"offset\":3,", with: "\"offset\":\(offset),")
                + "\n"
        }
        let check = try #require(try checks(evidence).first { $0.name == "signatures" })
        #expect(!check.holds)
        #expect(check.explanation.contains(words))
    }

    @Test("with a record left away does not hold: the rows no longer add up")
    func missingRecord() throws {
        let evidence = try write("postbacks")
        try change(evidence, .records) {
            $0.split(separator: "\n").filter {
                !$0.contains("\"outcome\":\"accepted\"") || !$0.contains("\"offset\":3,")
            }.joined(separator: "\n") + "\n"
        }
        #expect(try Set(failures(evidence)).isSuperset(of: ["aggregate", "records"]))
    }

    @Test(
        "with an aggregate or a configuration that was changed does not hold",
        arguments: [
            (.rows, #""postbacks":"#, #""postbacks":1"#, ["aggregate", "number"]),
            (
                .configurations, #"\"trust_development\":false"#,
                #"\"trust_development\":true"#, ["configurations"]
            ),
        ] as [(EvidenceFile, String, String, Set<String>)])
    func changedFile(
        _ file: EvidenceFile, _ before: String, _ after: String, _ failing: Set<String>
    ) throws {
        let evidence = try write("postbacks")
        try change(evidence, file) { $0.replacing(before, with: after) }
        #expect(try Set(failures(evidence)).isSuperset(of: failing))
    }

    @Test("with what memory answered changed does not hold")
    func changedMemory() throws {
        let evidence = try write("bids")
        try change(evidence, .notes) { _ in "" }
        #expect(try failures(evidence).contains("signatures"))
    }

    @Test(
        "with a record at an offset that no log has does not hold",
        arguments: [Int64.min, -1, .max])
    func noOffset(_ offset: Int64) throws {
        let evidence = try write("bids")
        try change(evidence, .records) {
            $0.replacing(/"offset":\d+/, with: "\"offset\":\(offset)")
        }
        let check = try #require(try checks(evidence).first { $0.name == "signatures" })
        #expect(check.explanation.contains("has an impossible offset"))
    }

    @Test("with a key that was changed does not hold")
    func changedKey() throws {
        let evidence = try write("postbacks")
        try change(evidence, .keys) { $0.replacing("MFkwEwYH", with: "MFkwEwYX") }
        #expect(try failures(evidence) == ["keys"])
    }

    @Test("that claims to be of something else, or marks that are not so, does not hold")
    func otherClaim() throws {
        let evidence = try write("postbacks")
        let written = try TarReader.files(in: Data(contentsOf: URL(fileURLWithPath: evidence.path)))
        let claims: [(String, String, (inout EvidenceManifest) -> Void)] = [
            ("question", "a campaign", { $0.where = ["campaign=1"] }),
            ("question", "a column that is not there", { $0.where = ["colour=1"] }),
            ("question", "a later time", { $0.sinceMs = Samples.start + 86_400_000 }),
            ("question", "an earlier time", { $0.untilMs = Samples.start }),
            ("question", "a dump of other rows", { $0.dump = "decoded-events" }),
            ("question", "the funnel", { $0.dump = "funnel" }),
            ("question", "no dump", { $0.dump = "numbers" }),
            ("question", "a measure", { $0.number["bids"] = "0" }),
            ("records", "a mark", { $0.addsUp = false }),
            ("records", "masked records", { $0.masked = 5 }),
            ("records", "no log", { $0.logs = [] }),
            ("records", "another topic", { $0.logs[0].topic = "others" }),
        ]
        for (check, name, change) in claims {
            var files = written
            var manifest = try EvidenceCoding.decode(EvidenceManifest.self, files[0].bytes)
            change(&manifest)
            files[0].bytes = try EvidenceCoding.encode(manifest, pretty: true)
            try rewrite(evidence, files)
            #expect(try failures(evidence).contains(check), "\(name)")
        }
        try rewrite(evidence, written)
        #expect(try failures(evidence).isEmpty)
    }

    @Test("is never written over a file")
    func existingFile() throws {
        let place = try MeasuredPlace("bids")
        try place.fold(place.records(20, seed: 3))
        let evidence = try WrittenEvidence()
        let kept = Data("kept".utf8)
        try kept.write(to: URL(fileURLWithPath: evidence.path))
        #expect(throws: ExplanationError.self) {
            try place.explainer(place.stores()).writeEvidence(
                of: DumpFigure(ReportRequest(name: "bids")), to: evidence.path
            ) { _ in nil }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: evidence.path)) == kept)
    }

    @Test("holds no secret, and says what it cannot verify")
    func masked() throws {
        let evidence = try write("store-notifications")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: evidence.path))
        #expect(bytes.range(of: Data(SampleNotifications.secret.utf8)) == nil)
        let checks = try checks(evidence)
        withExtendedLifetime(evidence) {}
        #expect(checks.allSatisfy { $0.holds }, "\(checks)")
        #expect(checks.contains { $0.name == "masked" })
    }

    @Test(
        "that is cut off, or something else, is refused in words", arguments: [0, 100, 700, 5000])
    func cutOff(_ length: Int) throws {
        let evidence = try write("bids")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: evidence.path))
        try bytes.prefix(length).write(to: URL(fileURLWithPath: evidence.path))
        #expect(throws: ExplanationError.self) { try checks(evidence) }
    }

    @Test("is an archive that tar reads")
    func tar() throws {
        let evidence = try write("bids")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["tar", "-tf", evidence.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let listed = String(
            decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        withExtendedLifetime(evidence) {}
        #expect(process.terminationStatus == 0)
        #expect(
            listed.split(separator: "\n").map(String.init)
                == [EvidenceManifest.name] + EvidenceFile.allCases.map(\.rawValue))
    }
}

/// A file of evidence, removed at the end.
private final class WrittenEvidence {
    private let files: TemporaryDirectory
    var path: String { files.path + "/evidence.tar" }

    init() throws { files = try TemporaryDirectory() }
}
