import Foundation

/// One execution of the target that `WEIR_FUZZ_TARGET` names.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    do {
        try run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutableRawPointer,
    _ body: @convention(c) (UnsafePointer<UInt8>, Int) -> CInt
) -> CInt

/// The name that the package manager gives to the beginning of this program. Without a target it lists them; with a
/// folder in `WEIR_FUZZ_CORPUS` it writes the target's corpus there; else it runs libFuzzer. The script `fuzz` does all three.
@_cdecl("weir_fuzz_main")
public func begin(_ count: CInt, _ arguments: UnsafeMutableRawPointer) -> CInt {
    let environment = ProcessInfo.processInfo.environment
    guard let target else {
        for target in fuzzTargets { print("\(target.name)\t\(target.guarantee)") }
        return 0
    }
    if let folder = environment["WEIR_FUZZ_CORPUS"] {
        do {
            for (number, input) in try target.corpus().enumerated() {
                try Data(input).write(to: URL(filePath: "\(folder)/sample-\(number)"))
            }
        } catch {
            fatalError("\(error)")
        }
        return 0
    }
    var (count, pointer) = (count, arguments)
    return runFuzzer(&count, &pointer) { fuzzOne($0, $1) }
}

private let target: FuzzTarget? = {
    guard let name = ProcessInfo.processInfo.environment["WEIR_FUZZ_TARGET"] else { return nil }
    guard let target = fuzzTargets.first(where: { $0.name == name }) else {
        fatalError("no target is named \(name)")
    }
    return target
}()

/// libFuzzer calls from one thread.
nonisolated(unsafe) private let run: FuzzTarget.Run = {
    do {
        guard let target else { fatalError("WEIR_FUZZ_TARGET names no target") }
        return try target.make()
    } catch {
        fatalError("\(error)")
    }
}()
