import Collector
import ConfigurationValues
import Deliveries
import Engine
import EventLog
import Foundation
import Monitoring
import Program
import Store
import Streams
import Wording

extension CheckReport {
    /// Runs the startup checks of the programs that depend on the configuration only. A program without a file is not
    /// used.
    ///
    /// - Parameter address: of the log; for a cluster, its settings are read too.
    mutating func checkPrograms(_ directory: PipelineDirectory, log address: LogAddress?) {
        for stream in allStreams where stream.isConfigured(in: directory) {
            attempt { _ in try stream.checkConfiguration(directory, log: address) }
        }
        if directory.has(program: PipelineDirectory.partnerPostbacksName) {
            attempt { _ in try PartnerPostbacksWorker.checkConfiguration(directory, log: address) }
        }
    }

    /// Runs the startup checks of the collector: its keys, tokens and TLS files.
    mutating func checkCollector(_ directory: PipelineDirectory) {
        attempt { report in
            let configuration = try CollectorProgram.checkConfiguration(directory)
            report.add(
                right: "collector: \(configuration.producers) producers, "
                    + "\(configuration.tokenKeys) token keys, "
                    + (configuration.hasTLS ? "with TLS" : "without TLS"))
        }
    }

    mutating func add(_ checks: [PartnerCheck]) {
        for check in checks {
            for explanation in check.wrong { add(wrong: explanation) }
            for explanation in check.doubtful { add(doubtful: explanation) }
        }
    }

    /// Checks each partner like delivery does, and renders a document of each kind for it.
    mutating func checkPartners(_ directory: PipelineDirectory) {
        attempt { report in
            let checks = PartnerCheck.all(try directory.partners(), directory: directory.path)
            report.add(checks)
            let well = checks.count { $0.wrong.isEmpty && $0.doubtful.isEmpty }
            if well > 0 {
                report.add(
                    right: "partners: \(well) of \(checks.count) can receive every kind of document"
                )
            }
        }
    }

    /// Runs all checks that `weir up` runs before it starts its services: the whole configuration, the startup checks
    /// of each program, and the topics to create. `weir up` does not start if a check fails.
    mutating func checkServices(
        _ directory: PipelineDirectory, _ topics: TopicDirectory, log address: LogAddress?
    ) {
        checkSeparatePrograms(directory, log: address)
        attempt { _ in _ = try topics.topics() }
        guard directory.exists else { return }
        for program in directory.programs where !directory.has(program: program) {
            add(
                wrong:
                    "\(directory.path)/\(program).yaml: the file does not exist, and weir up does not start without "
                    + "it. Copy the file that Weir ships. If you run the programs separately, use weir check "
                    + "--separate")
        }
    }

    /// The same checks for separate programs: those without a file are not used, and topics are created separately.
    mutating func checkSeparatePrograms(_ directory: PipelineDirectory, log address: LogAddress?) {
        check(directory)
        checkPrograms(directory, log: address)
        checkCollector(directory)
    }

    /// Whether the programs can create their files, if this user is the one that runs them.
    mutating func checkPermissions(of data: String) {
        guard FileManager.default.fileExists(atPath: data) else { return }
        guard access(data, R_OK | W_OK | X_OK) != 0 else { return }
        add(
            doubtful:
                "\(data): this user cannot write there (\(String(cString: strerror(errno)))), "
                + "so programs that run as this user fail. Grant the permission, or run weir check as the user of the programs"
        )
    }

    /// Warns of stores and logs that other users of the machine can read.
    mutating func checkReaders(of data: String, log address: LogAddress?) {
        var files =
            (try? FileManager.default.contentsOfDirectory(atPath: data))?.sorted()
            .filter { $0.contains(".sqlite") }.map { "\(data)/\($0)" } ?? []
        if let path = address?.path, !files.contains(path) { files.append(path) }
        let open = files.filter(Self.isReadableByOthers)
        guard let first = open.first else { return }
        let others = open.count == 1 ? "" : " and \(counted(open.count - 1, "other file"))"
        add(
            doubtful:
                "\(first)\(others): other users of this machine can read the data of devices and "
                + "the shared secrets in the log. Remove the permission: chmod o= \(open.joined(separator: " "))"
        )
    }

    /// Warns of -wal files without a recent checkpoint.
    mutating func checkWriteAhead(of data: String, log address: LogAddress?) {
        let sizes = WriteAheadMetrics.sizes(data, log: address?.path)
        for (path, bytes) in sizes.sorted(by: { $0.key < $1.key })
        where bytes > WriteAheadMetrics.unusualBytes {
            add(
                doubtful:
                    "\(path)-wal has \(bytes >> 20) MiB: a program that reads \(path) "
                    + "in one long transaction blocks its checkpoint, or the writer was killed. End "
                    + "that program (fuser \(path) lists them). The next commits checkpoint and truncate the file"
            )
        }
    }

    /// Whether users other than the owner and the group can read a file, by its mode and those of its directories.
    private static func isReadableByOthers(_ path: String) -> Bool {
        func mode(_ path: String) -> mode_t {
            var found = stat()
            return stat(path, &found) == 0 ? found.st_mode : 0
        }
        guard mode(path) & S_IFMT == S_IFREG, mode(path) & S_IROTH != 0 else { return false }
        var directory = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            guard mode(directory.path) & S_IXOTH != 0 else { return false }
        }
        return true
    }

    /// Notes errors of `body` as wrong.
    mutating func attempt(_ body: (inout CheckReport) throws -> Void) {
        do {
            try body(&self)
        } catch {
            add(wrong: CommandError(error)?.explanation ?? "\(error)")
        }
    }
}
