import ArgumentParser
import Engine
import Foundation
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct HandoffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "handoff",
        abstract: "Moves partitions of stores to another machine by hand.",
        discussion: """
            export writes a snapshot of each partition, import continues partitions from snapshots, and list \
            checks snapshots. They have the form that workers write with the key snapshots of their file \
            (docs/guides/scale-out.md).

              weir handoff export /mnt/handoff --stream bids --partitions 0-1
              weir handoff list /mnt/handoff
              weir handoff import /mnt/handoff --stream bids --partitions 0-1
            """,
        subcommands: [
            HandoffExportCommand.self, HandoffImportCommand.self, HandoffListCommand.self,
        ])
}

/// The partitions that a hand-off is about.
struct HandoffOptions: ParsableArguments {
    @Argument(help: "The directory of the snapshots.", completion: .directory)
    var directory: String
    @Option(help: "Only this stream (WEIR_STREAM; default: all).")
    var stream: String?
    @Option(
        help: ArgumentHelp(
            "Only these partitions, for example 0,2-3 (WEIR_PARTITIONS; default: all).",
            valueName: "list"))
    var partitions: String?

    var streams: [String] {
        get throws {
            let known = allStreams.map { $0.streamName }
            guard let name = stream ?? Environment()["WEIR_STREAM"] else { return known }
            guard known.contains(name) else {
                throw CommandError.usage(
                    "--stream '\(name)' is not a stream: write \(known.joined(separator: ", "))")
            }
            return [name]
        }
    }

    /// Whether a partition is wanted.
    func wanted() throws -> (Int32) -> Bool {
        guard let text = partitions ?? Environment()["WEIR_PARTITIONS"], text != "all" else {
            return { _ in true }
        }
        let numbers = Set(try WorkerOptions.partitions(text))
        return { numbers.contains($0) }
    }

    /// The snapshots of these partitions.
    func snapshots() throws -> [(stream: String, partition: Int32, directory: SnapshotDirectory)] {
        let isWanted = try wanted()
        let found = try SnapshotDirectory.all(in: directory, of: streams)
            .filter { isWanted($0.partition) }
        guard !found.isEmpty else {
            throw CommandError.failure(
                "\(directory) has no snapshots of these partitions: name the directory that weir handoff export or the key snapshots wrote"
            )
        }
        return found
    }
}

struct HandoffExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes snapshots of partitions.",
        discussion: """
            A worker may run meanwhile. What it folds after the snapshot is folded again by the next owner: stop \
            the worker first if it shall not fold these partitions any more.
            """)

    @OptionGroup var options: HandoffOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let source = try data.single("a hand-off is from one data directory: give --data once")
        let isWanted = try options.wanted()
        let sets = try PromotionJournal(settledIn: source)
        var report = HandoffReport()
        for stream in try options.streams {
            let path = "\(sets.directory(of: stream))/\(stream).sqlite"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let states = try StoreReader(path: path).snapshot { try $0.partitionStates() }
            for state in states where isWanted(state.partition) && state.records > 0 {
                let directory = SnapshotDirectory(
                    root: options.directory, stream: stream, partition: state.partition)
                Console.show(progress: "\(stream)/\(state.partition)")
                if let manifest = try SnapshotWriter(directory, of: state.partition, at: path)
                    .take()
                {
                    report.add(manifest, "written")
                }
            }
        }
        Console.show(progress: "")
        guard !report.lines.isEmpty else {
            throw CommandError.failure(
                "\(source) has no folded records of these partitions: give another --data, --stream or --partitions"
            )
        }
        try BufferedOutput.print(report, as: format)
    }
}

struct HandoffImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Continues partitions from their newest usable snapshots.",
        discussion: """
            The worker of the stream must not run on this data directory. A partition that the store has folded \
            further stays as it is. The worker then continues after the snapshot; it also checks that the log is \
            that of the snapshot.
            """)

    @OptionGroup var options: HandoffOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let target = try data.single("a hand-off is to one data directory: give --data once")
        let sets = try PromotionJournal(settledIn: target)
        var report = HandoffReport()
        var stores: [String: AggregateStore] = [:]
        for (stream, partition, directory) in try options.snapshots() {
            Console.show(progress: "\(stream)/\(partition)")
            let (manifest, refused) = try directory.newestUsable()
            for (name, fault) in refused {
                Console.write("warning: \(directory.path)/\(name) is not used: \(fault)")
            }
            guard let manifest, let fold = Streams.stream(named: stream) else {
                throw CommandError.failure(
                    "no snapshot in \(directory.path) can be used: export the partition again")
            }
            let path = "\(sets.directory(of: stream))/\(stream).sqlite"
            let store =
                try stores[stream]
                ?? AggregateStore(
                    path: path, fold: fold, topic: manifest.topic,
                    logIdentity: manifest.logIdentity, partitionCount: manifest.partitionCount)
            stores[stream] = store
            let state = try store.partitionStates().first { $0.partition == partition }
            if let state, state.records > 0, state.nextOffset >= manifest.nextOffset {
                report.add(manifest, "not needed: the store is at \(state.nextOffset)")
                continue
            }
            do {
                _ = try store.restore(manifest, in: directory)
            } catch let fault as SnapshotFault {
                throw CommandError.failure(
                    "\(directory.path) cannot be continued in \(path): \(fault)")
            }
            report.add(manifest, "imported")
        }
        Console.show(progress: "")
        try BufferedOutput.print(report, as: format)
    }
}

struct HandoffListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists snapshots and checks their files: exit code 1 if one is damaged.",
        discussion: "Reads every file and compares it with its SHA-256. The command writes nothing."
    )

    @OptionGroup var options: HandoffOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        var report = HandoffReport()
        for (stream, partition, directory) in try options.snapshots() {
            for name in try directory.manifests() {
                Console.show(progress: "\(stream)/\(partition) \(name)")
                do throws(SnapshotFault) {
                    let manifest = try directory.manifest(named: name)
                    do throws(SnapshotFault) {
                        try directory.verify(manifest)
                        report.add(manifest, "usable", at: directory.takenMilliseconds(name))
                    } catch {
                        report.add(
                            manifest, "damaged: \(error)", isFault: true,
                            at: directory.takenMilliseconds(name))
                    }
                } catch {
                    report.add(stream, partition, "not usable: \(name): \(error)")
                }
            }
        }
        Console.show(progress: "")
        try BufferedOutput.print(report, as: format)
        guard !report.hasFaults else { throw CommandError.differs }
    }
}

/// Snapshots, and what was done or found.
struct HandoffReport: Report {
    struct Line {
        var stream: String
        var partition: Int32
        var manifest: SnapshotManifest?
        var state: String
        /// When the snapshot was written, in milliseconds since 1970.
        var takenMilliseconds: Int64?
    }

    private(set) var lines: [Line] = []
    private(set) var hasFaults = false

    mutating func add(
        _ manifest: SnapshotManifest, _ state: String, isFault: Bool = false,
        at milliseconds: Int64? = nil
    ) {
        lines.append(
            Line(
                stream: manifest.stream, partition: manifest.partition, manifest: manifest,
                state: state, takenMilliseconds: milliseconds))
        hasFaults = hasFaults || isFault
    }

    /// A snapshot without a readable manifest.
    mutating func add(_ stream: String, _ partition: Int32, _ state: String) {
        lines.append(Line(stream: stream, partition: partition, state: state))
        hasFaults = true
    }

    var table: String {
        TextTable(
            lines,
            [
                .text("stream") { $0.stream }, .number("partition") { $0.partition },
                .text("taken") { $0.takenMilliseconds.map { UTC.text(milliseconds: $0) } ?? "" },
                .text("next offset") { $0.manifest.map { "\($0.nextOffset)" } ?? "" },
                .text("records") { $0.manifest.map { "\($0.records)" } ?? "" },
                .text("files") { $0.manifest.map { "\($0.files.count)" } ?? "" },
                .text("bytes") { $0.manifest.map { "\($0.bytes)" } ?? "" },
                .text("snapshot") { $0.state },
            ]
        ).shownLines.joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.objects("snapshots", lines) { line, json in
                json.member("stream", line.stream)
                json.member("partition", Int(line.partition))
                if let manifest = line.manifest {
                    json.member("next_offset", manifest.nextOffset)
                    json.member("records", manifest.records)
                    json.member("files", manifest.files.count)
                    json.member("bytes", manifest.bytes)
                }
                json.member("taken_ms", line.takenMilliseconds)
                json.member("state", line.state)
            }
        }
    }
}
