import ConversionValues
import EventLog
import Foundation
import Pipelines

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

    deinit {
        service.stop()
        try? FileManager.default.removeItem(atPath: path)
    }
}
