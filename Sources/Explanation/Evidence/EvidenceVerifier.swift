import AggregateStore
import Attestation
import EventLog
import Foundation
import Streams

/// Checks evidence with nothing but what it holds: its hashes, the configurations and keys, and every
/// record, which is verified and folded again.
package struct EvidenceVerifier {
    /// A check, and what came of it.
    package struct Check: Equatable, Sendable {
        /// What was checked.
        package let name: String
        /// Whether it holds.
        package let holds: Bool
        /// What was found.
        package let words: String
    }

    private let path: String
    private var files: [String: Data] = [:]
    let manifest: EvidenceManifest
    /// SHA-256 of the manifest, which says what all else has to be.
    package let manifestDigest: String
    private(set) var checks: [Check] = []

    /// Opens evidence. Throws `ExplanationError` for what is none.
    package init(path: String) throws {
        self.path = path
        let archive: Data
        do {
            archive = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            throw ExplanationError.file(
                operation: "read", path: path, detail: "give a file that is there and readable")
        }
        do throws(TarFault) {
            for (name, bytes) in try TarReader.files(in: archive) { files[name] = bytes }
        } catch {
            throw ExplanationError.noEvidence(path: path, detail: error.words)
        }
        guard let bytes = files[EvidenceManifest.name],
            let manifest = try? EvidenceCoding.decode(EvidenceManifest.self, bytes)
        else {
            throw ExplanationError.noEvidence(
                path: path, detail: "it has no \(EvidenceManifest.name) that is understood")
        }
        guard manifest.format == EvidenceManifest.currentFormat else {
            throw ExplanationError.noEvidence(
                path: path,
                detail: "its form is \(manifest.format), written by Weir \(manifest.weir)")
        }
        self.manifest = manifest
        manifestDigest = bytes.sha256
    }

    /// What the evidence says: dump, conditions and number.
    package var claim: String {
        let times = [("since", manifest.sinceMs), ("until", manifest.untilMs)].compactMap {
            name, time in time.map { "\(name)=\(UTC.text(milliseconds: $0))" }
        }
        let place = ([manifest.dump] + manifest.where + times).joined(separator: " ")
        let number = manifest.number.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
        return "\(place): \(number.joined(separator: ", "))"
    }

    /// Checks everything.
    ///
    /// - Returns: each check in order; the evidence holds when all of them do.
    package mutating func verify() throws -> [Check] {
        checks = []
        checkFiles()
        guard
            let rows = lines(EvidenceRow.self, .rows),
            let records = lines(EvidenceRecord.self, .records),
            let notes = lines(EvidenceNote.self, .notes),
            let configurations = lines(EvidenceConfiguration.self, .configurations),
            let models = lines(EvidenceModel.self, .models), let keys = keys()
        else { return checks }
        check(configurations, models)
        let roots = check(keys, configurations)
        let claim = EvidenceClaim(manifest, rows)
        let faults = claim.faults
        note(
            "question", faults.isEmpty,
            faults.isEmpty ? claim.words : EvidenceRefold.told(faults))
        var refold = EvidenceRefold(rows, notes, configurations, roots, cell: claim.cell)
        refold.fold(records)
        checks += refold.checks
        checkNumber(rows, claim.isOfRefusals ? refold.refusals : nil)
        checkManifest(records, rows, configurations)
        return checks
    }

    mutating func note(_ name: String, _ holds: Bool, _ words: String) {
        checks.append(Check(name: name, holds: holds, words: words))
    }

    private mutating func checkFiles() {
        var faults: [String] = []
        for file in manifest.files {
            guard let bytes = files[file.name] else {
                faults.append("\(file.name) is missing")
                continue
            }
            if bytes.count != file.bytes || bytes.sha256 != file.sha256 {
                faults.append("\(file.name) is not what the manifest says")
            }
        }
        let known = manifest.files.map(\.name) + [EvidenceManifest.name]
        faults += files.keys.filter { !known.contains($0) }.sorted().map {
            "\($0) is not in the manifest"
        }
        note(
            "files", faults.isEmpty,
            faults.isEmpty
                ? "\(manifest.files.count) files have their SHA-256"
                : faults.joined(separator: "; "))
    }

    private mutating func lines<Part: Decodable>(_ part: Part.Type, _ file: EvidenceFile) -> [Part]?
    {
        guard let bytes = files[file.rawValue],
            let parts = try? EvidenceCoding.lines(part, bytes)
        else {
            note("files", false, "\(file.rawValue) cannot be read")
            return nil
        }
        return parts
    }

    private mutating func keys() -> EvidenceKeys? {
        guard let bytes = files[EvidenceFile.keys.rawValue],
            let keys = try? EvidenceCoding.decode(EvidenceKeys.self, bytes)
        else {
            note("files", false, "\(EvidenceFile.keys.rawValue) cannot be read")
            return nil
        }
        return keys
    }

    private mutating func check(
        _ configurations: [EvidenceConfiguration], _ models: [EvidenceModel]
    ) {
        var faults: [String] = []
        var known: Set<EvidenceModel> = []
        for configuration in configurations {
            let recorded = FoldConfiguration(
                text: configuration.text,
                dedupeWindowMilliseconds: configuration.dedupeWindowMs)
            if recorded.hash != configuration.sha256 {
                faults.append(
                    "the configuration of \(configuration.stream) \(configuration.partition) from offset "
                        + "\(configuration.fromOffset) on does not have its SHA-256")
            }
            known.formUnion((try? EvidenceModel.all(in: recorded)) ?? [])
        }
        if known != Set(models) {
            faults.append(
                "\(EvidenceFile.models.rawValue) lists other models than the configurations have")
        }
        note(
            "configurations", faults.isEmpty,
            faults.isEmpty
                ? "\(configurations.count) configurations have their SHA-256"
                : faults.joined(separator: "; "))
    }

    /// The keys that configurations trust beside those that are built in: whoever has one of them can
    /// sign what is taken for Apple's.
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
                faults.append("the root certificate \(fingerprint) is another one")
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
            ? "nobody else's are trusted"
            : "the configuration also trusts \(others) keys and certificates that are not Apple's"
        note(
            "keys", faults.isEmpty,
            faults.isEmpty
                ? "Apple's keys are those built into this program; \(trusted)"
                : faults.joined(separator: "; "))
        return roots
    }

    /// The number that the rows give, held against the one that is claimed.
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
        note(
            "number", differing.isEmpty,
            differing.isEmpty
                ? "the rows add up to the number: \(claim)"
                : differing.map {
                    "\($0): the rows add up to \(sums[$0] ?? 0), \(claimed[$0] ?? 0) is claimed"
                }.joined(separator: "; "))
    }
}
