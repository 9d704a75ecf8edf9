import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("All streams on a cluster")
struct AllStreamsTests {
    /// A cluster with the records of `ExampleDay`, and a copy of the configuration.
    private struct Workspace {
        let directory: TemporaryDirectory
        let cluster: TestCluster
        let log: any LogBackend
        let published: [(topic: String, records: [OutgoingRecord])]

        init(_ kind: TestCluster.Kind) throws {
            directory = try TemporaryDirectory()
            pipelines = "\(directory.path)/pipelines"
            cluster = try TestCluster(kind)
            log = try PipelineDirectory(Repository.path("pipelines")).openLog(
                LogAddress(cluster.address), .existing)
            try FileManager.default.copyItem(
                atPath: Repository.path("pipelines"), toPath: pipelines)
            published = try ExampleDay.all()
            for (stream, records) in published {
                let file = "\(pipelines)/\(stream).yaml"
                let settings = try String(contentsOfFile: file, encoding: .utf8)
                try settings.replacing("topic: \(stream)\n", with: "topic: \(topic(stream))\n")
                    .write(toFile: file, atomically: true, encoding: .utf8)
                try makeTopic(topic(stream))
                try log.writer().append(
                    records.map { record in
                        var record = record
                        record.topic = topic(stream)
                        return record
                    })
            }
        }

        let pipelines: String

        func topic(_ stream: String) -> String { cluster.name(stream) }

        private func makeTopic(_ topic: String) throws {
            if let mock = cluster.mock {
                try mock.createTopic(topic, partitionCount: 4)
            } else {
                cluster.own(topic)
                cluster.own("\(topic).dlq")
                try log.createTopic(topic, partitionCount: 4)
            }
        }

        /// Folds a log with every worker, and returns the digest of their stores.
        func digest(of address: String, data: String) throws -> String {
            let data = "\(directory.path)/\(data)"
            let options = WorkerOptions(
                log: try LogAddress(address), data: data, pipelines: pipelines, untilEnd: true)
            for (stream, records) in published {
                try Streams.stream(named: stream)?.work(options, stop: StopSignal())
                let states = try StoreReader(path: "\(data)/\(stream).sqlite")
                    .snapshot { try $0.partitionStates() }
                #expect(states.reduce(0) { $0 + Int($1.records) } == records.count, "\(stream)")
            }
            return try OpenStores(directories: [data]).digest()
        }
    }

    @Test(
        "every worker gives the same digest from a cluster as from the archive that was copied of it",
        arguments: TestCluster.Kind.available)
    func digests(kind: TestCluster.Kind) throws {
        let workspace = try Workspace(kind)
        let digest = try workspace.digest(of: workspace.cluster.address, data: "kafka")
        let archive = "sqlite:\(workspace.directory.path)/archive.sqlite"
        for (stream, _) in workspace.published {
            var command = try WeirCommand.parseAsRoot([
                "archive", "--topic", workspace.topic(stream), "--from", workspace.cluster.address,
                "--to",
                archive,
            ])
            try command.run()
        }
        #expect(try workspace.digest(of: archive, data: "archive") == digest)
        // And the one that was folded from the archive goes on with the cluster.
        #expect(try workspace.digest(of: workspace.cluster.address, data: "archive") == digest)
    }

    @Test(
        "what workers publish, a plain consumer reads, with the headers of the contract",
        arguments: TestCluster.Kind.available)
    func plainConsumer(kind: TestCluster.Kind) throws {
        let workspace = try Workspace(kind)
        _ = try workspace.digest(of: workspace.cluster.address, data: "data")
        let stores = try OpenStores(directories: ["\(workspace.directory.path)/data"])
        let rejected = try stores.dump(ReportRequest(name: "rejected")).rows.count
        var letters = 0
        for (stream, _) in workspace.published {
            let topic = workspace.topic(stream)
            guard try workspace.log.topics().contains(where: { $0.name == "\(topic).dlq" }) else {
                continue
            }
            let found = try PlainConsumer(workspace.cluster.brokers)
                .readAll("\(topic).dlq", partitionCount: 4)
            for letter in found {
                #expect(letter.headers["weir_topic"] == topic)
                #expect(letter.headers["weir_reason"]?.isEmpty == false)
                #expect(letter.headers["weir_detail"]?.isEmpty == false)
                #expect(letter.headers["weir_partition"].flatMap { Int32($0) } != nil)
                #expect(letter.headers["weir_offset"].flatMap { Int64($0) } != nil)
            }
            letters += found.count
        }
        #expect(letters == rejected && letters > 0)
        let origin = "\"topic\":\"\(workspace.topic("postbacks"))\""
        let postbacks = try PlainConsumer(workspace.cluster.brokers)
            .readAll("partner-postbacks", partitionCount: 4)
            .filter { $0.value?.contains(origin) == true }
        #expect(!postbacks.isEmpty)
        for postback in postbacks {
            let key = try #require(postback.key)
            #expect(key.count == 32)
            #expect(postback.headers["ce_specversion"] == "1.0")
            #expect(postback.headers["ce_type"] == "partner.postback")
            #expect(postback.headers["ce_id"]?.hasPrefix("\(key):") == true)
            #expect(postback.headers["ce_source"] == "/weir/\(workspace.topic("postbacks"))")
            #expect(postback.headers["ce_time"]?.hasSuffix("Z") == true)
            #expect(postback.headers["content-type"] == "application/json")
        }
    }
}
