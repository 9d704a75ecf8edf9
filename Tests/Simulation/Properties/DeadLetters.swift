import Crypto
import EventLog
import Streams

extension Comparison {
    /// Each rejected record is there at least once, the first time in order, and nothing else is.
    func compareDeadLetters(_ letters: SimulatedCluster.Topic?) throws {
        let name = "\(stream).dlq"
        var found: [Int32: [Int64]] = [:]
        let refused = feed.refused
        for record in letters?.recordsAsAppended ?? [] {
            guard let partition = record.header("weir_partition").flatMap({ Int64($0) }),
                let offset = record.header("weir_offset").flatMap({ Int64($0) })
            else {
                throw SimulationFault("\(name): a dead letter does not say where it is from")
            }
            let records = topic.partitions[Int(partition)].records
            let original = records.first { $0.offset == offset }
            // The model does not know every rejection's reason.
            let said = record.header("weir_reason") ?? ""
            let reason = refused[Int32(partition)]?[offset].flatMap { $0.isEmpty ? said : $0 }
            let isLarge = reason == ContractReason.tooLarge.rawValue
            guard let original, record.key == original.key, said == reason,
                ContractReason(rawValue: said) != nil, record.header("weir_topic") == stream,
                record.header("weir_detail") != nil,
                record.headers.starts(with: original.headers),
                record.value == (isLarge ? nil : original.value),
                record.header("weir_sha256") == (isLarge ? original.valueSHA256 : nil)
            else {
                throw SimulationFault(
                    "\(name) has another record of partition \(partition) at \(offset)")
            }
            let offsets = found[Int32(partition)] ?? []
            if !offsets.contains(offset) { found[Int32(partition)] = offsets + [offset] }
        }
        let rejected = feed.rejected
        for number in topic.partitions.indices.map({ Int32($0) }) {
            let wanted = rejected[number] ?? []
            var there = found[number] ?? []
            if letters?.knowsOrder == false { there.sort() }
            guard wanted == there else {
                throw SimulationFault(
                    "\(name) has of partition \(number) offsets \(there), and \(wanted) were rejected"
                )
            }
        }
    }
}

extension SimulatedCluster.Record {
    /// The last header of a name, as text.
    func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }

    /// What the first header of several says, as text.
    var type: String {
        headers.first { $0.name == "ce_type" }?.value.map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }

    var valueSHA256: String { Self.sha256(value ?? []) }

    static func sha256(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
