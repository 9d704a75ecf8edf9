import ConfigurationFiles
import EventLog
import Foundation
import JSONComparison
import Streams

/// Bytes that libFuzzer makes, for the target that `WEIR_FUZZ_TARGET` names: `json`, or a stream. See `fuzz`, beside this.
///
/// - `json`: Weir's second stage and simdjson's own accept the same documents, and find the same values in them.
/// - a stream: the first byte says which type the record has, the rest is its value. The record is folded twice. Nothing
///   crashes, each record has one outcome, the second one is rejected like the first, and what the collector says of an
///   event is what the worker says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer,
    _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// The name that the package manager gives to the beginning of this program.
@_cdecl("weir_fuzz_main")
public func begin(_ count: CInt, _ arguments: UnsafeMutableRawPointer) -> CInt {
    var (count, pointer) = (count, arguments)
    return runFuzzer(&count, &pointer) { fuzzOne($0, $1) }
}

/// libFuzzer calls from one thread.
nonisolated(unsafe) private let target: any FuzzTarget = makeTarget()

private protocol FuzzTarget {
    func run(_ bytes: [UInt8])
}

private func makeTarget() -> any FuzzTarget {
    let environment = ProcessInfo.processInfo.environment
    let name = environment["WEIR_FUZZ_TARGET"] ?? "json"
    do {
        if name == "json" { return DocumentTarget() }
        guard let stream = stream(named: name) else { fatalError("no target is named \(name)") }
        return try makeTarget(
            stream, PipelineDirectory(environment["WEIR_PIPELINES"] ?? "pipelines"))
    } catch {
        fatalError("\(error)")
    }
}

private func makeTarget<Fold: StreamFold>(
    _: Fold.Type, _ pipelines: PipelineDirectory
) throws -> any FuzzTarget {
    try StreamTarget<Fold>(pipelines)
}

private struct DocumentTarget: FuzzTarget {
    private let comparison = JSONComparison()

    func run(_ bytes: [UInt8]) {
        guard let found = comparison?.compare(bytes) else { return }
        precondition(found.isSame, "another document than simdjson's")
    }
}

private final class StreamTarget<Fold: StreamFold>: FuzzTarget {
    private let rules: Fold.Rules
    private let reader = RecordKeyReader()
    private let types: [String?]
    private let isProduced: Bool
    private var fold: Fold
    private var runs = 0
    private let batch = RecordBatch()

    init(_ pipelines: PipelineDirectory) throws {
        rules = try Fold.rules(in: pipelines)
        fold = try Self.make(rules)
        types = [nil] + Fold.Kind.allCases.map { "\($0.name)" } + ["another"]
        isProduced = producedStreams.contains { $0.streamName == Fold.streamName }
    }

    private static func make(_ rules: Fold.Rules) throws -> Fold {
        try Fold.make(rules, topic: Fold.streamName, memory: NoMemory(), threadCount: 1)
    }

    func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let type = types[Int(first) % types.count]
        let value = Array(bytes.dropFirst())
        batch.removeAll()
        let headers = type.map { RecordHeaders.encode([.init("ce_type", $0)]) } ?? []
        value.withUnsafeBytes { value in
            headers.withUnsafeBytes { headers in
                for offset in 0..<2 {
                    batch.append(
                        partition: 0, offset: Int64(offset),
                        timestampMilliseconds: 1_795_219_200_000, key: nil, headers: headers,
                        value: value)
                }
            }
        }
        do {
            fold.begin(fold.prepare(batch))
            for index in 0..<batch.count { try fold.fold(index) }
        } catch {
            preconditionFailure("\(error)")
        }
        let effects = fold.effects
        let rejected = effects.refused.filter { RefusedRecord.isRejection($0.reason) }
        precondition(
            effects.progress.map(\.records).reduce(0, +) == 2, "records without an outcome")
        precondition(rejected.count != 1 || rejected[0].index == 1, "a record rejected once only")
        if rejected.count == 2 {
            precondition(
                rejected[0].reason == rejected[1].reason
                    && rejected[0].detail == rejected[1].detail,
                "one record, two reasons")
        }
        if isProduced { compare(value, type, rejected.count == 2 ? rejected[0].reason : nil) }
        fold.clear()
        runs += 1
        // What was accepted is remembered.
        guard runs % 20_000 == 0 else { return }
        do { fold = try Self.make(rules) } catch { preconditionFailure("\(error)") }
    }

    /// The collector knows before what the worker says of an event.
    private func compare(_ value: [UInt8], _ type: String?, _ reason: String?) {
        do throws(Rejection) {
            _ = try reader?.events(
                value, stream: Fold.self, type: type ?? Fold.defaultType, at: 1_795_219_200_000)
        } catch {
            precondition(
                error.reason.name == reason,
                "\(error.reason.name), and the worker says \(reason ?? "nothing")")
            return
        }
        precondition(reason == nil, "the collector takes what the worker rejects: \(reason ?? "")")
    }
}

/// A store that has nothing yet.
private final class NoMemory: FoldMemory {
    func row(of table: MemoryTable, partition: Int32, key: MemoryValue) -> [MemoryValue]? { nil }
    func windowEntries(of partition: Int32) -> [DedupeWindow.Entry] { [] }
}
