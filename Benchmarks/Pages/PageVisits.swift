import ArgumentParser
import Foundation
import TestKit

/// Requests pages of `weir dashboard` and prints how long they take.
struct PageVisits {
    let program: String
    let directory: String
    /// The clock of the dashboard.
    let noon: String
    let addresses: [String]
    /// Warm requests of each page.
    let requests: Int

    func run() throws {
        try readStores()
        print("| page | cold ms | warm ms, median | warm ms, worst | CPU ms, median | KiB |")
        print("|---|---|---|---|---|---|")
        for address in addresses {
            // A process that has just started, with the sums of an earlier one.
            let first = try Dashboard(program, directory, noon)
            let cold = try first.visit(address)
            try first.waitUntilIdle()
            let warm = try (1...requests).map { try first.visit(address, number: $0) }
            first.stop()
            let times = warm.map(\.milliseconds).sorted()
            print(
                String(
                    format: "| `%@` | %.0f | %.0f | %.0f | %.0f | %d |", address,
                    cold.milliseconds, times[times.count / 2], times.last ?? 0,
                    warm.map(\.cpuMilliseconds).sorted()[warm.count / 2], cold.bytes >> 10))
        }
    }

    /// The first start, which has no sums of an earlier one.
    private func readStores() throws {
        let sums = "\(directory)/dashboard.sums"
        try? FileManager.default.removeItem(atPath: sums)
        var watch = Stopwatch()
        try watch.measure {
            let dashboard = try Dashboard(program, directory, noon)
            defer { dashboard.stop() }
            try dashboard.waitUntilIdle()
        }
        let size = try? FileManager.default.attributesOfItem(atPath: sums)[.size] as? NSNumber
        print(
            String(
                format: "the first start has read the stores in %.1f s, sums of %d MiB",
                watch.wallSeconds, (size?.intValue ?? 0) >> 20))
    }

    /// A dashboard as a process of its own.
    private final class Dashboard {
        private let process = Process()
        private let port: UInt16

        init(_ program: String, _ directory: String, _ noon: String) throws {
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [
                "dashboard", "--listen", "127.0.0.1:0", "--data", directory, "--pipelines",
                "\(directory)/pipelines", "--log", "sqlite:\(directory)/log.sqlite", "--at", noon,
            ]
            process.standardError = output
            try process.run()
            var line = ""
            while !line.contains("http://") || !line.hasSuffix("\n") {
                let data = output.fileHandleForReading.availableData
                guard !data.isEmpty else { throw Stopwatch.Failure(program: program) }
                line += String(decoding: data, as: UTF8.self)
            }
            let address = line.split(separator: "\n").last { $0.contains("http://") }
            let digits = address?.split(separator: ":").last?.filter(\.isNumber) ?? ""
            guard let port = UInt16(digits) else { throw Stopwatch.Failure(program: program) }
            self.port = port
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }

        /// Waits until it has built its first pages, which it does after its start.
        func waitUntilIdle() throws {
            var last = -1.0
            while try cpuMilliseconds() > last {
                last = try cpuMilliseconds()
                Thread.sleep(forTimeInterval: 0.5)
            }
        }

        struct Visit {
            let milliseconds: Double
            let cpuMilliseconds: Double
            let bytes: Int
        }

        /// Requests a page.
        ///
        /// - Parameter number: makes the address another one for the cache of complete pages, which would otherwise
        ///   answer.
        func visit(_ address: String, number: Int = 0) throws -> Visit {
            let connection = try RawConnection(port: port, timeoutSeconds: 300)
            let target =
                address + (address.contains("?") ? "" : "?")
                + String(repeating: "&", count: number)
            let cpu = try cpuMilliseconds()
            var watch = Stopwatch()
            let answer = watch.measure { () -> Answer? in
                connection.send(
                    "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"
                )
                return connection.answer()
            }
            guard let answer, answer.status == 200 else {
                throw ValidationError(
                    "\(target): \(answer.map { "\($0.status)" } ?? "no answer")")
            }
            return Visit(
                milliseconds: watch.wallSeconds * 1000,
                cpuMilliseconds: try cpuMilliseconds() - cpu, bytes: answer.body.count)
        }

        /// The CPU time that the process has used.
        private func cpuMilliseconds() throws -> Double {
            let path = "/proc/\(process.processIdentifier)/stat"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let fields = text.split(separator: " ")
            // Fields 14 and 15, in clock ticks.
            let ticks = fields[13...14].compactMap { Double($0) }.reduce(0, +)
            return ticks * 1000 / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }
}
