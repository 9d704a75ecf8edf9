import Foundation
import TestKit
import Testing

/// The targets of `Package.swift`, and the floors on which ARCHITECTURE.md has them.
@Suite("The floors of the house")
struct FloorsTests {
    /// The package's own targets that each target in `Sources` depends on.
    private let dependencies: [String: [String]]
    private let floors: [String: Int]
    /// Libraries that nothing pure may need, by their names in `Package.swift`.
    private static let impure: Set<Substring> = [
        "grdb", "grdbSQLite", "yams", "arguments", "http", "httpCore", "nio",
        "nioPosix",
        "nioHTTP", "logging", "metrics", "product",
    ]
    private let libraries: [String: Set<Substring>]

    init() throws {
        let package = try String(contentsOfFile: Repository.path("Package.swift"), encoding: .utf8)
        var (dependencies, libraries) = ([String: [String]](), [String: Set<Substring>]())
        let target =
            /\.(?:executableTarget|target|systemLibrary)\(\s*name: "([^"]+)"((?:(?!\.(?:executableTarget|target|systemLibrary|testTarget)\()[\s\S])*)/
        for found in package.matches(of: target) {
            let all = found.2.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            // Products of libraries that have no name of their own here.
            let list = all.replacing(/\.product\([^)]*\)/, with: "product")
            dependencies[String(found.1)] = list.matches(of: /"([^"]+)"/).map { String($0.1) }
            libraries[String(found.1)] = Set(list.matches(of: /\b[a-z]\w*\b/).map(\.0))
        }
        self.dependencies = dependencies
        self.libraries = libraries
        let text = try String(contentsOfFile: Repository.path("ARCHITECTURE.md"), encoding: .utf8)
        floors = text.matches(of: /(?m)^\| (\d) \| ([^|]+) \|/).reduce(into: [:]) { floors, row in
            for room in row.2.matches(of: /`([^`]+)`/) { floors[String(room.1)] = Int(row.1) }
        }
    }

    @Test("every room in Sources is on a floor, and no other is")
    func rooms() throws {
        let folders = try FileManager.default
            .contentsOfDirectory(atPath: Repository.path("Sources")).filter { !$0.hasPrefix(".") }
        #expect(Set(folders) == Set(floors.keys))
    }

    @Test("no room depends on one of its own floor or of a higher one")
    func downwards() {
        #expect(dependencies["Streams"]?.contains("EventLog") == true, "the list is read")
        for (room, floor) in floors where !(dependencies[room] ?? []).isEmpty {
            for lower in dependencies[room] ?? [] {
                // A C target lies on the floor of the room that it is a part of.
                let isPart = lower.hasPrefix("C") && floor == 0
                let found = floors[lower] ?? .max
                #expect(found < floor || isPart, "\(room) of floor \(floor) needs \(lower)")
            }
        }
    }

    @Test("streams and all that they are made of are pure")
    func pure() {
        var rooms = ["Streams"]
        var seen: Set<String> = []
        while let room = rooms.popLast() {
            guard seen.insert(room).inserted else { continue }
            let impure = libraries[room]?.intersection(Self.impure) ?? []
            #expect(impure.isEmpty, "\(room) needs \(impure)")
            #expect(room != "CRdKafka" && room != "KafkaLog")
            rooms += dependencies[room] ?? []
        }
        #expect(seen.count > 5)
        for room in seen where room != "Streams" {
            #expect((floors[room] ?? .max) <= 1, "\(room)")
        }
    }
}
