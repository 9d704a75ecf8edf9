import EventLog
import Foundation
import TestKit

/// Documents of the topic `partner-postbacks`, beside those that postbacks make, and what has to come of all.
final class SimulatedDocuments {
    static let topic = "partner-postbacks"
    /// The last one has no address, and there is no file of a further one.
    private static let partners = PartnerDocumentsModel.trust.map(\.key)

    private var random: SeededGenerator
    private var revisions: [Int64] = []
    /// Records that are no documents.
    private(set) var unreadable: [Int32: Set<Int64>] = [:]

    /// What was in topics before, or is not in the topic any more: it may have been taken over.
    private(set) var retired: [SimulatedCluster.Record] = []
    /// Offsets of the topic are those of another one.
    private(set) var isRecreated = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// Some of what the topic has will be gone.
    func retire(_ topic: SimulatedCluster.Topic) {
        for (number, partition) in topic.partitions.enumerated() {
            retired += partition.records.filter {
                unreadable[Int32(number)]?.contains($0.offset) != true
            }
        }
    }

    /// The topic is another one from now on, into which a producer sends a part of the old one's records again.
    func reset(
        _ old: [SimulatedCluster.Record], in cluster: SimulatedCluster, at milliseconds: Int64
    ) {
        isRecreated = true
        unreadable = [:]
        guard let topic = cluster.topic(Self.topic), number(below: 2) == 0 else { return }
        let retiredNumbers = Set(retired.map(\.number))
        for record in old.dropFirst(number(below: old.count + 1))
        where retiredNumbers.contains(record.number) {
            cluster.append(
                OutgoingRecord(
                    topic: Self.topic, key: record.key, headers: record.headers,
                    value: record.value), to: topic, at: milliseconds)
        }
    }

    /// Begins every id that is sent from here: those of postbacks are digests.
    static let idPrefix = "5e0000"

    static func writeConfiguration(to directory: String, settings: String) throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory)/partners", withIntermediateDirectories: true)
        for (partner, verdicts) in PartnerDocumentsModel.trust {
            let address =
                partner == "off"
                ? "" : "\n  url: http://127.0.0.1:9/\(partner)\n  allow_private: true"
            let rate = partner == "zenith" ? "\n  rate_per_second: 3\n  concurrency: 2" : ""
            try """
            name: \(partner)
            trust: [\(verdicts.joined(separator: ", "))]
            delivery:
              method: POST\(address)\(rate)

            """.write(
                toFile: "\(directory)/partners/\(partner).yaml", atomically: false,
                encoding: .utf8)
        }
        try "topic: \(topic)\n\(settings)".write(
            toFile: "\(directory)/\(topic).yaml", atomically: false, encoding: .utf8)
    }

    private func number(below bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    /// Sends a new document, a further revision, one that was sent before, or what is none.
    func send(to cluster: SimulatedCluster, at milliseconds: Int64) {
        guard let topic = cluster.topic(Self.topic) else { return }
        var index = revisions.count
        if !revisions.isEmpty, number(below: 3) > 0 { index = number(below: revisions.count) }
        if index == revisions.count { revisions.append(0) }
        if revisions[index] == 0 || number(below: 2) == 0 { revisions[index] += 1 }
        // Mostly the newest revision, now and then one that is older.
        let revision = revisions[index] - Int64(number(below: 4) == 0 ? number(below: 2) : 0)
        let digits = String(index)
        let id =
            Self.idPrefix + String(repeating: "0", count: 26 - digits.count) + digits
        let names = Self.partners + ["unheard-of"]
        let text =
            #"{"id":"\#(id)","revision":\#(max(1, revision)),"partner":"\#(names[index % names.count])"}"#
        let none: [[UInt8]?] = [
            nil, [], Array("{".utf8), Array(text.utf8) + [0xFF], Array("[]".utf8),
        ]
        let isNone = number(below: 15) == 0
        let position = cluster.append(
            OutgoingRecord(
                topic: Self.topic, key: Array(id.utf8), headers: [],
                value: isNone ? none[number(below: none.count)] : Array(text.utf8)),
            to: topic, at: milliseconds)
        if isNone { unreadable[position.partition, default: []].insert(position.offset) }
    }
}
