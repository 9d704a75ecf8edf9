import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

/// Stores of earlier versions, and their upgrade.
extension Workspace {
    /// Ten auctions and a loss in the first hour, as an earlier version folded them that did not count losses.
    func makeEarlierBids() throws {
        try publish("bids", Samples.bids(0..<10) + [Samples.loss("a1")])
        try foldBids()
        try forgetLosses()
    }

    func forgetLosses(data: String = "data") throws {
        try execute(
            """
            DROP VIEW bids; DROP TABLE unknown_before;
            ALTER TABLE bids_sums DROP COLUMN losses;
            CREATE VIEW bids AS SELECT number, partition, hour FROM bids_sums
              JOIN slots ON slot = number >> 32
            """, stream: "bids", data: data)
    }

    /// Removes a table, as if an earlier version without it had folded the store.
    func forget(_ table: String, stream: String) throws {
        try execute(
            """
            DROP VIEW \(table); DROP TABLE \(table)_keys; DROP TABLE \(table)_sums;
            DROP TABLE unknown_before
            """, stream: stream)
    }

    /// Makes a store look as if it was folded with other rules.
    func useRules(_ earlier: Int, insteadOf present: Int, stream: String) throws {
        try execute(
            """
            UPDATE epochs SET configuration = replace(configuration, '"rules":\(present)', '"rules":\(earlier)'),
              configuration_hash = 'x'
            """, stream: stream)
    }

    func upgrade(acceptsDifferences: Bool = false) -> Upgrade {
        Upgrade(
            UpgradeOrder(
                data: path + "/data", source: source(), threadCount: 2,
                patienceSeconds: 30, acceptsDifferences: acceptsDifferences))
    }

    @discardableResult
    func runUpgrade(acceptsDifferences: Bool = false) throws -> UpgradeResult {
        try upgrade(acceptsDifferences: acceptsDifferences).run(stop: StopSignal())
    }

    /// Runs an upgrade until a step, as if it was killed there.
    func killUpgrade(after step: UpgradeStep) throws {
        #expect(throws: Crash.self) {
            try upgrade().run(stop: StopSignal(), onStep: { if $0 == step { throw Crash() } })
        }
    }

    /// The losses by day or in total; nil is unknown.
    func losses(by columns: [String] = []) throws -> [Int128?] {
        try sums("losses", of: "bids", by: columns)
    }

    func sums(_ measure: String, of dump: String, by columns: [String] = []) throws -> [Int128?] {
        let dump = try stores().dump(
            ReportRequest(name: dump, grouping: columns.isEmpty ? .total : .columns(columns)))
        let index = try #require(dump.measures.firstIndex(of: measure))
        return dump.rows.map { $0.measures[index] }
    }

    func trimBids(before offset: Int64) throws {
        try openLog().trim(topic: "bids", partition: 0, before: offset)
    }
}

extension Samples {
    static func loss(_ id: String, hours: Int64 = 0, seat: String = "dsp-1") -> OutgoingRecord {
        record(
            "bids",
            #"{"auction_id":"\#(id)","bid_id":"b","seat":"\#(seat)","price":0.5,"loss_reason":102}"#,
            type: "openrtb.loss", partition: 0, at: start + hours * Hour.milliseconds)
    }
}
