import Collector
import ConfigurationFiles
import Deliveries
import Engine
import EventLog
import Foundation
import Store
import Streams

extension CheckReport {
    /// Runs what the programs look at when they start, as far as it has to do with the configuration alone. A
    /// program without a file is not used.
    ///
    /// - Parameter address: of the log; its settings are read where it is a cluster.
    mutating func checkPrograms(_ directory: PipelineDirectory, log address: LogAddress?) {
        for stream in allStreams where stream.isConfigured(in: directory) {
            attempt { _ in try stream.checkConfiguration(directory, log: address) }
        }
        if directory.has(program: PipelineDirectory.partnerPostbacksName) {
            attempt { _ in try PartnerPostbacksWorker.checkConfiguration(directory, log: address) }
        }
    }

    /// Runs what the collector looks at when it starts: its keys, tokens and files of TLS.
    mutating func checkCollector(_ directory: PipelineDirectory) {
        attempt { report in
            let configuration = try CollectorProgram.checkConfiguration(directory)
            report.note(
                right: "collector: \(configuration.producers) producers, "
                    + "\(configuration.tokenKeys) token keys, "
                    + (configuration.hasTLS ? "with TLS" : "without TLS"))
        }
    }

    mutating func note(_ checks: [PartnerCheck]) {
        for check in checks {
            for explanation in check.wrong { note(wrong: explanation) }
            for explanation in check.doubtful { note(doubtful: explanation) }
        }
    }

    /// Looks at each partner as delivery does, and renders a document of each kind for it.
    mutating func checkPartners(_ directory: PipelineDirectory) {
        attempt { report in
            let checks = PartnerCheck.all(try directory.partners(), directory: directory.path)
            report.note(checks)
            let well = checks.count { $0.wrong.isEmpty && $0.doubtful.isEmpty }
            if well > 0 {
                report.note(
                    right: "partners: \(well) of \(checks.count) can be sent every kind of document"
                )
            }
        }
    }

    /// What `weir up` wants besides.
    mutating func checkUp(_ directory: PipelineDirectory) {
        let missing = UpCommand.missingFiles(in: directory)
        guard !missing.isEmpty, directory.exists else { return }
        note(right: "weir up would want \(missing.joined(separator: ", ")) too")
    }

    /// Whether the programs can make their files, where this user is the one that they run as.
    mutating func checkPermissions(of data: String) {
        guard FileManager.default.fileExists(atPath: data) else { return }
        guard access(data, R_OK | W_OK | X_OK) != 0 else { return }
        note(
            doubtful:
                "\(data): this user may not write there (\(String(cString: strerror(errno)))): "
                + "no program that runs as it can work; let it, or run weir check as theirs")
    }

    /// Notes what is thrown as wrong.
    mutating func attempt(_ body: (inout CheckReport) throws -> Void) {
        do {
            try body(&self)
        } catch {
            note(wrong: CommandError(error)?.explanation ?? "\(error)")
        }
    }
}
