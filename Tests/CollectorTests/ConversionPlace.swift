import ConversionValues
import EventLog
import Foundation
import GRDB
import Pipelines
import Streams

@testable import Collector

/// What tells installs their values by the models that Weir ships, with a log in a directory of its own.
final class ConversionPlace {
    let path = NSTemporaryDirectory() + "weir-conversions-\(UUID().uuidString)"
    let log: EmbeddedLog
    let service: ConversionService
    let routes: [CollectorRoute]

    /// `wrap` puts another log around the service's own.
    init(
        deadlineSeconds: Double = 10, wrap: (EmbeddedLog) -> any LogBackend = { $0 }
    ) throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        log = try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
        try log.createTopic("conversion-updates", partitionCount: 4)
        let apps = try ConversionApps(
            PipelineDirectory(root.appending(path: "pipelines").path()))
        service = try ConversionService(
            log: Lent.lend(wrap(EmbeddedLog(path: path + "/log.sqlite", mode: .existing))),
            storePath: path + "/conversions.sqlite", apps: apps, deadlineSeconds: deadlineSeconds)
        routes = ConversionRoutes(service: service, apps: apps).routes
    }

    /// Does this while another program keeps the log locked.
    func whileLogIsLocked(_ body: () throws -> Void) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path + "/log.sqlite", configuration: configuration)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        defer {
            try? other.inDatabase { try $0.execute(sql: "ROLLBACK") }
            try? other.close()
        }
        try body()
    }

    deinit {
        service.stop()
        try? FileManager.default.removeItem(atPath: path)
    }
}
