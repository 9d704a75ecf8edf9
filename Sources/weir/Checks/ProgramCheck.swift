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

    /// Reads everything that `weir up` reads before it starts its parts: all of the configuration, what each program
    /// looks at when it starts, and the topics that are created. `weir up` refuses to start where this finds
    /// something wrong.
    mutating func checkParts(
        _ directory: PipelineDirectory, _ topics: TopicDirectory, log address: LogAddress?
    ) {
        checkSeparateParts(directory, log: address)
        attempt { _ in _ = try topics.topics() }
        guard directory.exists else { return }
        for program in directory.programs where !directory.has(program: program) {
            note(
                wrong:
                    "\(directory.path)/\(program).yaml: no such file: weir up does not start without "
                    + "it. Copy the one that Weir ships. If the programs run one by one, weir check "
                    + "--separate does not ask for it")
        }
    }

    /// The same for programs that run one by one: those without a file are not used, and topics are created apart.
    mutating func checkSeparateParts(_ directory: PipelineDirectory, log address: LogAddress?) {
        check(directory)
        checkPrograms(directory, log: address)
        checkCollector(directory)
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

    /// Warns of stores and logs that other users of the machine can read.
    mutating func checkReaders(of data: String, log address: LogAddress?) {
        var files =
            (try? FileManager.default.contentsOfDirectory(atPath: data))?.sorted()
            .filter { $0.contains(".sqlite") }.map { "\(data)/\($0)" } ?? []
        if let path = address?.path, !files.contains(path) { files.append(path) }
        let open = files.filter(Self.isReadableByOthers)
        guard let first = open.first else { return }
        let others = open.count == 1 ? "" : " and \(counted(open.count - 1, "other file"))"
        note(
            doubtful:
                "\(first)\(others): other users of this machine can read what devices sent, and "
                + "the shared secrets in the log. Remove the right: chmod o= \(open.joined(separator: " "))"
        )
    }

    /// Warns of -wal files that have not been written back for long.
    mutating func checkWriteAhead(of data: String, log address: LogAddress?) {
        let sizes = WriteAheadMetrics.sizes(data, log: address?.path)
        for (path, bytes) in sizes.sorted(by: { $0.key < $1.key })
        where bytes > WriteAheadMetrics.unusualBytes {
            note(
                doubtful:
                    "\(path)-wal has \(bytes >> 20) MiB: a program that has been reading \(path) "
                    + "in one transaction keeps it from being written back, or the writer was killed. End "
                    + "that program (fuser \(path) lists them); the next commits write it back and cut it"
            )
        }
    }

    /// Whether the mode lets users read a file who are neither its owner nor of its group, on all of its path.
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

    /// Notes what is thrown as wrong.
    mutating func attempt(_ body: (inout CheckReport) throws -> Void) {
        do {
            try body(&self)
        } catch {
            note(wrong: CommandError(error)?.explanation ?? "\(error)")
        }
    }
}
