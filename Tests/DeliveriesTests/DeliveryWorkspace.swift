import Foundation
import JSON
import Store
import Synchronization
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

/// A store and partners' files, with a dispatcher over real HTTP and a clock that the test sets.
final class DeliveryWorkspace {
    let files: PartnerFiles
    let clock = ManualClock()
    let store: DeliveryStore
    let sender: HTTPSender
    private let parser: JSONParser
    private(set) var dispatcher: Dispatcher
    private var nextOffset: Int64 = 0

    init(
        _ deliveries: [String: String], resolver: any HostResolver = SystemResolver(),
        attemptsOnce: Bool = false, authorities: String? = nil
    ) throws {
        files = try PartnerFiles()
        for (name, delivery) in deliveries { try files.add(name, delivery) }
        parser = try #require(JSONParser())
        store = try DeliveryStore(
            path: DeliveryStore.path(in: files.path), topic: "partner-postbacks", logIdentity: "x")
        sender = HTTPSender(
            resolver: resolver, receiverCount: deliveries.count, authorities: authorities)
        dispatcher = Dispatcher(
            store: store, routes: try files.routes(), sender: sender, clock: clock,
            parser: parser, attemptsOnce: attemptsOnce)
    }

    deinit { sender.stop() }

    /// Takes documents over, as from the topic.
    func ingest(_ documents: String...) throws { try ingest(documents) }

    func ingest(_ documents: [String]) throws {
        let records = try documents.map { text in
            defer { nextOffset += 1 }
            return IncomingRecord(
                partition: 0, offset: nextOffset, bytes: Array(text.utf8),
                document: .success(try Documents.read(text)))
        }
        _ = try store.ingest(
            records, topic: "partner-postbacks", nextOffsets: [0: nextOffset],
            partners: ConfiguredPartners(try files.partners()),
            nowMilliseconds: clock.nowMilliseconds)
    }

    /// Sends what is due, again and again, until something is so; fails when it does not come to be.
    func run(until isSo: () throws -> Bool) throws {
        let isInTime = try Wait.until {
            try dispatcher.runOnce(waitMilliseconds: 20)
            return try isSo()
        }
        try #require(isInTime, "what was waited for did not come to be")
    }

    /// Sends what is due now, and what becomes due by it, until all is answered.
    func sendDue(seconds: Double = Wait.seconds) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        repeat {
            try dispatcher.runOnce(waitMilliseconds: 50)
            try #require(Date() < deadline, "not all was answered in time")
        } while dispatcher.inFlightCount > 0
    }

    /// Sends, and sets the clock to the next attempt, until nothing waits any more.
    func sendAll(times: Int = 50) throws {
        for _ in 0..<times {
            try sendDue()
            guard let next = try dispatcher.nextDueMilliseconds() else { return }
            clock.set(max(next, clock.nowMilliseconds))
        }
    }

    func delivery(_ id: String = Documents.id) throws -> Delivery {
        try #require(try store.history(of: id).last?.delivery)
    }

    func states(partner: String) throws -> [DeliveryState: Int] {
        try store.counts().filter { $0.partner == partner }
            .reduce(into: [:]) { $0[$1.state] = $1.count }
    }
}

extension ManualClock: DeliveryClock {}
