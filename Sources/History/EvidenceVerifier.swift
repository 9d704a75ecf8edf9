import EventLog
import Foundation
import Signatures
import Store
import Streams
import Wording

/// Checks evidence from its own contents only: its hashes, the configurations and keys, and every record, which is
/// verified and folded again.
package struct EvidenceVerifier {
    package struct Check: Equatable, Sendable {
        package let name: String
        package let holds: Bool
        package let explanation: String

        /// - Parameter explanation: used without faults.
        init(_ name: String, _ faults: [String], _ explanation: String) {
            self.name = name
            holds = faults.isEmpty
            self.explanation = holds ? explanation : faults.joined(separator: "; ")
        }
    }

    private let path: String
    private var files: [String: Data] = [:]
    let manifest: EvidenceManifest
    /// SHA-256 of the manifest, which determines all other contents.
    package let manifestDigest: String
    private var checks: [Check] = []

    /// Opens evidence. Throws `ExplanationError` for another file.
    package init(path: String) throws {
        self.path = path
        let archive: Data
        do {
            archive = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            throw ExplanationError.file(
                operation: "read", path: path, detail: "give an existing file that you may read")
        }
        do throws(TarFault) {
            for (name, bytes) in try TarReader.files(in: archive) { files[name] = bytes }
        } catch {
            throw ExplanationError.noEvidence(path: path, detail: error.description)
        }
        guard let bytes = files[EvidenceManifest.name],
            let manifest = try? EvidenceCoding.decode(EvidenceManifest.self, bytes)
        else {
            throw ExplanationError.noEvidence(
                path: path, detail: "its \(EvidenceManifest.name) is missing or invalid")
        }
        let supported = EvidenceManifest.formatOfAll...EvidenceManifest.currentFormat
        guard supported.contains(manifest.format) else {
            throw ExplanationError.noEvidence(
                path: path,
                detail: "it has format \(manifest.format), written by Weir \(manifest.weir)")
        }
        self.manifest = manifest
        manifestDigest = bytes.sha256
    }

    /// The claim of the evidence: dump, conditions and number.
    package var claim: String {
        let times = [("since", manifest.sinceMs), ("until", manifest.untilMs)].compactMap {
            name, time in time.map { "\(name)=\(UTC.text(milliseconds: $0))" }
        }
        let measure = manifest.measure.map { ["measure=\($0)"] } ?? []
        let zone = manifest.timeZone.map { ["time_zone=\($0.name)"] } ?? []
        let subject = ([manifest.dump] + manifest.where + times + zone + measure)
            .joined(separator: " ")
        let number = manifest.number.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
        return "\(subject): \(number.isEmpty ? "nothing" : number.joined(separator: ", "))"
    }

    /// - Returns: each check in order; the evidence holds if all of them do.
    package mutating func verify() throws -> [Check] {
        checks = []
        checkFiles()
        guard
            let rows = lines(EvidenceRow.self, .rows),
            let records = lines(EvidenceRecord.self, .records),
            let inputs = lines(EvidenceInput.self, .inputs),
            let configurations = lines(EvidenceConfiguration.self, .configurations),
            let models = lines(EvidenceModel.self, .models),
            let keys = read(.keys, { try EvidenceCoding.decode(EvidenceKeys.self, $0) })
        else { return checks }
        check(configurations, models)
        let roots = check(keys, configurations)
        let claim = EvidenceClaim(manifest, rows)
        add("question", EvidenceRefold.limited(claim.faults), claim.holding)
        var refold = EvidenceRefold(rows, inputs, configurations, roots, figure: claim.figure)
        refold.fold(records)
        checks += refold.checks
        checkNumber(rows, claim.isOfRefusals ? refold.refusals : nil)
        checkManifest(records, rows, configurations)
        return checks
    }

    private mutating func add(_ name: String, _ faults: [String], _ explanation: String) {
        checks.append(Check(name, faults, explanation))
    }

    private mutating func checkFiles() {
        var faults: [String] = []
        for file in manifest.files {
            guard let bytes = files[file.name] else {
                faults.append("\(file.name) is missing")
                continue
            }
            if bytes.count != file.bytes || bytes.sha256 != file.sha256 {
                faults.append("\(file.name) does not match the manifest")
            }
        }
        let expected = Set(manifest.files.map(\.name) + [EvidenceManifest.name])
        faults += files.keys.filter { !expected.contains($0) }.sorted().map {
            "\($0) is not in the manifest"
        }
        add(
            "files", EvidenceRefold.limited(faults),
            "\(Wording.counted(manifest.files.count, "file")) \(manifest.files.count == 1 ? "has its" : "have their") SHA-256"
        )
    }

    /// Reads one of the files; adds a failed check and returns nil if it is not readable.
    private mutating func read<Part>(
        _ file: EvidenceFile, _ decode: (Data) throws -> Part
    ) -> Part? {
        guard let bytes = files[file.rawValue], let part = try? decode(bytes) else {
            add("files", ["\(file.rawValue) cannot be read"], "")
            return nil
        }
        return part
    }

    private mutating func lines<Part: Decodable>(_: Part.Type, _ file: EvidenceFile) -> [Part]? {
        read(file) { try EvidenceCoding.lines(Part.self, $0) }
    }

    private mutating func check(
        _ configurations: [EvidenceConfiguration], _ models: [EvidenceModel]
    ) {
        var faults: [String] = []
        var recordedModels: Set<EvidenceModel> = []
        for configuration in configurations {
            let recorded = FoldConfiguration(
                text: configuration.text,
                dedupeWindowMilliseconds: configuration.dedupeWindowMs)
            if recorded.hash != configuration.sha256 {
                faults.append(
                    "the configuration of \(configuration.stream) \(configuration.partition) from offset "
                        + "\(configuration.fromOffset) does not match its SHA-256")
            }
            recordedModels.formUnion((try? EvidenceModel.all(in: recorded)) ?? [])
        }
        if recordedModels != Set(models) {
            faults.append(
                "\(EvidenceFile.models.rawValue) lists other models than the configurations")
        }
        add(
            "configurations", faults,
            "\(Wording.counted(configurations.count, "configuration")) \(configurations.count == 1 ? "has its" : "have their") SHA-256"
        )
    }

    /// The keys that configurations trust besides the built-in ones: with one of them, anyone can sign data that
    /// counts as Apple's.
    private static func otherKeys(_ configurations: [EvidenceConfiguration]) -> Set<String> {
        var keys: Set<String> = []
        for configuration in configurations {
            let texts = try? RecordedConfiguration.read(configuration.text) {
                configuration throws(RecordedConfigurationFault) in
                var texts: [String] = []
                guard let trusted = configuration.optional("trusted_keys") else { return texts }
                for (_, list) in try trusted.members() {
                    texts += try list.elements {
                        text throws(RecordedConfigurationFault) in try text.text()
                    }
                }
                return texts
            }
            keys.formUnion(texts ?? [])
        }
        return keys
    }

    private mutating func check(
        _ keys: EvidenceKeys, _ configurations: [EvidenceConfiguration]
    ) -> [AppStoreRoot] {
        var faults: [String] = []
        var roots: [AppStoreRoot] = []
        for (fingerprint, pem) in keys.roots.sorted(by: { $0.key < $1.key }) {
            guard let root = try? AppStoreRoot(pem: pem), root.fingerprint == fingerprint else {
                faults.append("the root certificate \(fingerprint) does not match its fingerprint")
                continue
            }
            roots.append(root)
        }
        for (name, key) in keys.builtIn.sorted(by: { $0.key < $1.key })
        where TrustedKeys.builtInKeys[name] != key {
            faults.append("\(name) is not the key that is built into this program")
        }
        let others =
            Self.otherKeys(configurations).count
            + roots.count { $0.fingerprint != AppStoreRoot.appleRootCAG3.fingerprint }
        let trusted =
            others == 0
            ? "no other keys are trusted"
            : "the configuration also trusts \(Wording.counted(others, "key or certificate", plural: "keys and certificates")) that are not Apple's"
        add("keys", faults, "Apple's keys match those built into this program; \(trusted)")
        return roots
    }

    /// Compares the number from the rows with the claimed one.
    ///
    /// - Parameter refusals: the number of a dump of refused records, which has no rows.
    private mutating func checkNumber(_ rows: [EvidenceRow], _ refusals: Int64?) {
        var sums: [String: Int128] = [:]
        for row in rows {
            for pair in row.gives where pair.count == 2 {
                sums[pair[1], default: 0] += Int128(row.measures[pair[0]] ?? 0)
            }
        }
        if let refusals { sums["records"] = Int128(refusals) }
        let claimed = manifest.number.mapValues { Int128($0) ?? 0 }.filter { $0.value != 0 }
        sums = sums.filter { $0.value != 0 }
        let differing = Set(sums.keys).union(claimed.keys).sorted().filter {
            sums[$0] ?? 0 != claimed[$0] ?? 0
        }
        add(
            "number",
            differing.map {
                "\($0): the rows add up to \(sums[$0] ?? 0), but the file claims \(claimed[$0] ?? 0)"
            }, "the rows add up to the number: \(claim)")
    }
}

extension EvidenceVerifier {
    /// Checks the manifest's statements about the parts: counts, marks and logs.
    private mutating func checkManifest(
        _ records: [EvidenceRecord], _ rows: [EvidenceRow],
        _ configurations: [EvidenceConfiguration]
    ) {
        let counted = Int64(records.count { $0.leftOut == nil })
        let leftOut = Int64(records.count) - counted
        let claimed = Int128(manifest.leftOut) + Int128(manifest.untold)
        var faults: [String] = []
        if counted != manifest.counted || Int128(leftOut) != claimed {
            faults.append("the manifest has \(manifest.counted) and \(claimed)")
        }
        let masked = records.count { $0.masked == true }
        if manifest.masked != Int64(masked) {
            faults.append("\(masked) are masked, but the manifest has \(manifest.masked)")
        }
        let addsUp = checks.allSatisfy { !["aggregate", "number"].contains($0.name) || $0.holds }
        if manifest.addsUp != addsUp {
            faults.append(
                "they \(addsUp ? "add up" : "do not add up"), but the manifest claims the opposite")
        }
        let streams = Set(rows.map(\.stream) + records.map(\.stream))
        let topics = Set(
            (records.map { [$0.stream, $0.topic] } + configurations.map { [$0.stream, $0.topic] }))
        if Set(manifest.logs.map(\.stream)) != streams
            || !topics.isSubset(of: manifest.logs.map { [$0.stream, $0.topic] })
        {
            faults.append("they belong to other logs than in the manifest")
        }
        let found =
            "\(Wording.counted(counted, "record")) \(counted == 1 ? "counts" : "count") and \(leftOut) \(leftOut == 1 ? "was" : "were") left out"
        add("records", faults.isEmpty ? [] : [([found] + faults).joined(separator: ", ")], found)
    }
}
