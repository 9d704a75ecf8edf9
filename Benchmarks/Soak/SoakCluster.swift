import Foundation
import TestKit

/// Brokers, and the faults that can be injected into them.
protocol SoakCluster: AnyObject {
    /// `HOST:PORT` of each broker.
    var addresses: [String] { get }
    /// The supported faults.
    var faults: [SoakFault] { get }
    /// The maximum duration of a fault, in seconds.
    var longestFaultSeconds: Double { get }
    /// Whether a new member may get the id of a member with an ended session.
    var reusesMemberIDs: Bool { get }
    /// Whether the cluster is running.
    var isRunning: Bool { get }
    /// Injects a fault.
    func strike(_ fault: SoakFault) throws
    /// Ends a fault.
    func mend(_ fault: SoakFault) throws
    /// Stops the processes started for the cluster.
    func stop()
}

/// A temporary fault of brokers.
enum SoakFault: String, CaseIterable {
    case brokerDown = "a broker goes"
    case allDown = "all brokers go"
    case coordinatorMoves = "the group's coordinator moves"
    case leadersMove = "leaders move"
    case slow = "brokers answer after 300 ms"
    case fenced = "a member's name is taken"
}

/// An external cluster.
final class SoakRealCluster: SoakCluster {
    let addresses: [String]
    private let killCommand: String?
    private let startCommand: String?

    init(addresses: [String], killCommand: String?, startCommand: String?) {
        self.addresses = addresses
        self.killCommand = killCommand
        self.startCommand = startCommand
    }

    var faults: [SoakFault] { killCommand == nil ? [] : [.brokerDown] }
    var longestFaultSeconds: Double { 10 }
    var reusesMemberIDs: Bool { false }
    var isRunning: Bool { true }

    func strike(_ fault: SoakFault) throws { try run(killCommand) }

    func mend(_ fault: SoakFault) throws { try run(startCommand) }

    func stop() {}

    private func run(_ command: String?) throws {
        guard let command else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw SoakFailure("'\(command)' ended with \(process.terminationStatus)")
        }
    }
}

/// librdkafka's mock brokers in a child process, which runs one command per input line.
final class SoakMockCluster: SoakCluster {
    let addresses: [String]
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var moves: Int32 = 0

    init(topic: String, partitionCount: Int32) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["soak-brokers", topic, "\(partitionCount)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        addresses = Self.line(of: output).split(separator: ",").map(String.init)
    }

    var faults: [SoakFault] { SoakFault.allCases }

    /// Shorter than a session: after a longer one, all members would return with reassigned ids.
    var longestFaultSeconds: Double { 2.5 }

    /// An id is the address of the member's memory. The id of a member that returns late may belong to another one by
    /// then, and these brokers end with a failed assertion.
    var reusesMemberIDs: Bool { true }

    var isRunning: Bool { process.isRunning }

    func strike(_ fault: SoakFault) throws {
        moves += 1
        switch fault {
        case .brokerDown: try order("down 2")
        case .allDown: try order("down -1")
        case .coordinatorMoves: try order("coordinator \(1 + moves % 3)")
        case .leadersMove: try order("leaders \(moves)")
        case .slow: try order("delay 300")
        case .fenced: try order("fence")
        }
    }

    func mend(_ fault: SoakFault) throws {
        switch fault {
        case .brokerDown: try order("up 2")
        case .allDown: try order("up -1")
        case .slow: try order("delay 0")
        case .coordinatorMoves, .leadersMove, .fenced: break
        }
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func order(_ explanation: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((explanation + "\n").utf8))
        guard Self.line(of: output) == "done" else {
            throw SoakFailure("the mock brokers did not do '\(explanation)'")
        }
    }

    private static func line(of pipe: Pipe) -> String {
        var line = Data()
        while let more = try? pipe.fileHandleForReading.read(upToCount: 1), !more.isEmpty {
            if more.first == 10 { break }
            line += more
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// Why a soak cannot continue.
struct SoakFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
