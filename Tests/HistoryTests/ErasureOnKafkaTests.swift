import ConfigurationValues
import EventLog
import Foundation
import Store
import Streams
import TestKit
import Testing

@testable import History

@Suite("Erasing a person on Kafka")
struct ErasureOnKafkaTests {
    private func update(_ id: String, number: Int) -> OutgoingRecord {
        Samples.record(
            "conversion-updates",
            """
            {"update_id":"u\(number)","install_id":"\(id)","app_id":1,"outcome":"told","model":"m",\
            "fine":{"told":{"value":\(number),"model":"m"}}}
            """, key: id, partition: 0, at: Samples.start + Int64(number))
    }

    private func erasure(_ log: any LogBackend, _ workspace: Workspace) throws -> Erasure {
        Erasure(
            of: try ErasureSubject(.install, ErasureWorkspace.person), in: log,
            directories: [workspace.path + "/data"], PipelineDirectory(workspace.pipelines))
    }

    @Test(
        "without compaction, records stay until their retention, and collectors get one notice",
        arguments: ["604800000", "-1"])
    func retention(_ milliseconds: String) throws {
        let cluster = try ClusterWorkspace(.mock)
        try cluster.cluster.createTopic("conversion-updates", partitionCount: 1)
        try cluster.log.writer().append([
            update(ErasureWorkspace.person, number: 0), update("another-install", number: 1),
        ])
        let log = WrappedLog(
            cluster.log,
            settings: { _ in ["cleanup.policy": "delete", "retention.ms": milliseconds] })
        let first = try erasure(log, cluster.workspace).run()
        let kept = try #require(first.records.first)
        #expect(kept.records.map(\.offset) == [0])
        #expect((kept.expiryMilliseconds == nil) == (milliseconds == "-1"))
        #expect(first.summary(isDry: false).contains("1 record stays in Kafka"))

        let records = try cluster.records("conversion-updates")
        #expect(records.map(\.offset) == [0, 1, 2])
        #expect(records[2].keyBytes == nil && records[2].value == nil)
        #expect(
            records[2].headers == [
                "weir_erases": ErasureNotice.digest(ofID: ErasureWorkspace.person)
            ])
        _ = try erasure(log, cluster.workspace).run()
        #expect(try cluster.records("conversion-updates").count == 3)
    }

    @Test("with compaction, a tombstone has the key, and stores and dead letters do not keep it")
    func compaction() throws {
        let workspace = try Workspace()
        try workspace.publish(
            "conversion-updates", update(ErasureWorkspace.person, number: 0),
            update("another-install", number: 1))
        // Records of a wrapped log cannot be changed.
        let log = WrappedLog(
            try workspace.openLog(),
            settings: { _ in ["cleanup.policy": "compact,delete", "retention.ms": "5"] })
        _ = try erasure(log, workspace).run()
        _ = try erasure(log, workspace).run()
        let records = try workspace.records("conversion-updates")
        #expect(
            records.map(\.key) == [
                ErasureWorkspace.person, "another-install", ErasureWorkspace.person,
            ])
        #expect(records[2].value == nil)

        try workspace.fold(.conversionUpdates)
        #expect(try workspace.refused(for: "erased", "conversion-updates") == [2])
        #expect(
            try workspace.integer(
                "SELECT count(*) FROM refused WHERE key IS NOT NULL", stream: "conversion-updates")
                == 0)
        #expect(try workspace.records("conversion-updates.dlq").map(\.key) == [nil])
    }
}
