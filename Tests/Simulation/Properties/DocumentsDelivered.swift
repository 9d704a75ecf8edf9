import Deliveries
import EventLog
import Foundation
import Store

extension SimulatedDocuments {
    /// Each document's highest revision was delivered, where its partner has an address; nothing waits, and nothing was
    /// sent that is not in the topic.
    ///
    /// - Parameter stores: of all instances.
    /// - Returns: how many documents were delivered.
    func compare(
        _ topic: SimulatedCluster.Topic, _ partners: SimulatedPartners, _ stores: [DeliveryStore]
    ) throws -> Int {
        if let fault = partners.fault { throw fault }
        let documents = try documents(topic, isShared: stores.count > 1)
        if let other = partners.requests.first(where: { !documents.holds($0) }) {
            throw SimulationFault(
                "\(other.id):\(other.revision) was sent to \(other.partner), and is another")
        }
        let accepted = Set(
            partners.requests.filter(\.isAccepted).map { "\($0.id):\($0.revision)" })
        if let lost = documents.missing(from: accepted, haveAddress: true).min() {
            throw SimulationFault("\(lost) was not delivered")
        }
        let held = try compareHeld(stores, documents)
        let unread = try compareDead(stores, documents, topic)
        let missing = documents.missing(from: held, haveAddress: false)
        guard missing.isEmpty, unread.isEmpty else {
            throw SimulationFault(
                "not held: \(missing.sorted()), and not dead: \(unread.sorted())")
        }
        return accepted.count
    }

    private func documents(
        _ topic: SimulatedCluster.Topic, isShared: Bool
    ) throws -> PublishedDocuments {
        var documents = PublishedDocuments()
        for record in retired { _ = try documents.note(record, isShared: isShared) }
        for (number, partition) in topic.partitions.enumerated() {
            for record in partition.records
            where unreadable[Int32(number)]?.contains(record.offset) != true {
                let document = try documents.note(record, isShared: isShared)
                if document.revision > documents.highest[document.id]?.revision ?? 0 {
                    documents.highest[document.id] = document
                }
            }
        }
        return documents
    }

    /// - Returns: the keys of all deliveries that are held.
    private func compareHeld(
        _ stores: [DeliveryStore], _ documents: PublishedDocuments
    ) throws -> Set<String> {
        var held: Set<String> = []
        for store in stores {
            for delivery in try store.deliveries(state: .pending, limit: 1) {
                throw SimulationFault("\(delivery.idempotencyKey) waits")
            }
            // Another instance may hold a higher revision, and this one what it had taken over before.
            for delivery in try store.deliveries(state: .held, limit: .max) {
                held.insert(delivery.idempotencyKey)
                if stores.count == 1, retired.isEmpty,
                    PublishedDocuments.addressed.contains(delivery.partner)
                        || documents.highest[delivery.id]?.revision != delivery.revision
                {
                    throw SimulationFault("\(delivery.idempotencyKey) is held")
                }
            }
        }
        return held
    }

    /// - Returns: what is in the topic, no document, and not dead.
    private func compareDead(
        _ stores: [DeliveryStore], _ documents: PublishedDocuments, _ topic: SimulatedCluster.Topic
    ) throws -> Set<String> {
        let positions = unreadable.flatMap { number, offsets in offsets.map { (number, $0) } }
        func ids(_ positions: [(Int32, Int64)]) -> Set<String> {
            Set(positions.map { "\(Self.topic)/\($0)/\($1)" })
        }
        var unread = ids(positions.filter { $1 >= topic.partitions[Int($0)].earliestOffset })
        let unreadOrGone = ids(positions)
        for delivery in try stores.flatMap({ try $0.deliveries(state: .dead, limit: .max) }) {
            if delivery.partner.isEmpty {
                unread.remove(delivery.id)
                guard unreadOrGone.contains(delivery.id) || isRecreated else {
                    throw SimulationFault("\(delivery.id) is dead, and a document")
                }
            } else if documents.highestEver[delivery.id]?.revision ?? 0 <= delivery.revision {
                // What a partner has refused is sent again, unless there is a higher revision.
                throw SimulationFault("\(delivery.idempotencyKey) is dead: \(delivery.reason)")
            }
        }
        return unread
    }
}

private struct PublishedDocuments {
    struct Document: Decodable {
        let id: String
        let revision: Int64
        let partner: String
    }

    static let addressed = ["acme", "zenith"]

    /// Of those in the topic.
    var highest: [String: Document] = [:]
    /// Of all that was there at any time.
    private(set) var highestEver: [String: Document] = [:]
    private var bodies: [String: [[UInt8]]] = [:]

    mutating func note(_ record: SimulatedCluster.Record, isShared: Bool) throws -> Document {
        let bytes = record.value ?? []
        let document = try JSONDecoder().decode(Document.self, from: Data(bytes))
        let key = "\(document.id):\(document.revision)"
        // Of a topic that was made anew, or that has another partition, the same document may have another origin:
        // the first one counts that an instance takes over.
        if bodies[key] == nil || isShared { bodies[key, default: []].append(bytes) }
        if document.revision > highestEver[document.id]?.revision ?? 0 {
            highestEver[document.id] = document
        }
        return document
    }

    func holds(_ request: SimulatedPartners.Request) -> Bool {
        bodies["\(request.id):\(request.revision)"]?.contains(request.body) == true
            && highestEver[request.id]?.partner == request.partner
    }

    /// What is not in the topic any more may have come before, with a higher revision.
    func missing(from found: Set<String>, haveAddress: Bool) -> [String] {
        highest.values.filter { document in
            Self.addressed.contains(document.partner) == haveAddress
                && !(document.revision...(highestEver[document.id]?.revision ?? 0)).contains {
                    found.contains("\(document.id):\($0)")
                }
        }.map { "\($0.id):\($0.revision)" }
    }
}
