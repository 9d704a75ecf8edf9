// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
// What runs once a record or more. Overlapping accesses are looked for in debug builds, which the tests
// use; in release they would run for every record. Generic code is specialised across modules.
let hot =
    strict + [
        .unsafeFlags(
            ["-enforce-exclusivity=unchecked", "-cross-module-optimization"],
            .when(configuration: .release))
    ]
// Debug information would be three fifths of each program. Names of functions stay, for backtraces.
let stripped = [LinkerSetting.unsafeFlags(["-Xlinker", "-S"], .when(configuration: .release))]
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let certificates = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let http = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "weir",
    products: [
        .executable(name: "weir", targets: ["weir"]),
        .executable(name: "weir-bids", targets: ["weir-bids"]),
        .executable(name: "weir-impressions", targets: ["weir-impressions"]),
        .executable(name: "weir-overlay-clicks", targets: ["weir-overlay-clicks"]),
        .executable(name: "weir-partner-postbacks", targets: ["weir-partner-postbacks"]),
        .executable(name: "weir-postbacks", targets: ["weir-postbacks"]),
        .executable(name: "weir-store-notifications", targets: ["weir-store-notifications"]),
        .executable(name: "weir-conversion-updates", targets: ["weir-conversion-updates"]),
        .executable(name: "weir-costs", targets: ["weir-costs"]),
        .executable(name: "weir-collector", targets: ["weir-collector"]),
        .executable(name: "weir-benchmarks", targets: ["weir-benchmarks"]),
        .executable(name: "weir-simulate", targets: ["weir-simulate"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.34.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "JSON", dependencies: ["CSimdjson"], swiftSettings: hot),
        // Every page that is read or written is summed, in tests too.
        .target(
            name: "CPageChecksums", cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "DatabaseFiles", dependencies: ["CPageChecksums", grdb], swiftSettings: hot),
        .target(
            name: "EventLog",
            dependencies: [
                "DatabaseFiles", grdb, .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: hot),
        .systemLibrary(
            name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .target(
            name: "KafkaLog", dependencies: ["CRdKafka", "DatabaseFiles", "EventLog", logging],
            swiftSettings: hot),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "Signatures",
            dependencies: ["COpenSSL", "JSON", asn1, certificates, crypto],
            swiftSettings: strict),
        .target(name: "ConversionModels", swiftSettings: strict),
        .target(
            name: "Program", dependencies: ["EventLog", "Monitoring", arguments, logging],
            swiftSettings: strict),
        .target(
            name: "ConfigurationFiles",
            dependencies: [
                "ConversionModels", "DatabaseFiles", "EventLog", "KafkaLog", "Monitoring",
                "Program", logging, yams,
            ],
            swiftSettings: strict),
        .target(
            name: "Streams",
            dependencies: [
                "Signatures", "ConversionModels", "EventLog", "JSON", "ConfigurationFiles", crypto,
            ],
            swiftSettings: hot),
        .target(
            name: "Store",
            dependencies: [
                "DatabaseFiles", "EventLog", "JSON", "Program", "Streams", crypto, grdb,
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: hot),
        .target(
            name: "Monitoring",
            dependencies: [
                http, httpCore, httpTypes, logging, metrics, nio, nioHTTP, nioPosix,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
            ],
            swiftSettings: strict),
        .target(
            name: "Engine",
            dependencies: [
                "Store", "Signatures", "ConversionModels", "EventLog", "JSON",
                "Monitoring", "ConfigurationFiles", "Program", "Streams", arguments, logging,
                metrics,
            ],
            swiftSettings: strict),
        .target(
            name: "ConversionValues",
            dependencies: [
                "Store", "ConversionModels", "DatabaseFiles", "EventLog", "JSON",
                "Streams", crypto, grdb,
            ],
            swiftSettings: strict),
        .target(
            name: "Deliveries",
            dependencies: [
                "Store", "DatabaseFiles", "EventLog", "JSON", "KafkaLog",
                "Monitoring", "ConfigurationFiles", "Program",
                "Streams", arguments, crypto, grdb, httpClient, logging, metrics, nio,
                nioPosix,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "Reports",
            dependencies: [
                "Store", "ConversionModels", "JSON", "ConfigurationFiles", "Program",
                "Streams",
                crypto,
            ],
            swiftSettings: strict),
        .target(
            name: "History",
            dependencies: [
                "ConversionModels", "DatabaseFiles", "Engine", "Store", "Signatures", "EventLog",
                "Reports", "JSON", "Monitoring", "ConfigurationFiles", "Program", "Streams", crypto,
            ],
            swiftSettings: strict),
        .target(
            name: "Collector",
            dependencies: [
                "Signatures", "ConversionValues", "EventLog", "JSON", "KafkaLog",
                "Monitoring", "ConfigurationFiles", "Program", "Streams", arguments, crypto, http,
                httpCore,
                httpTypes, logging, metrics, nio, nioPosix,
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "weir-bids", dependencies: ["Streams", "Engine"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-impressions", dependencies: ["Streams", "Engine"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-overlay-clicks", dependencies: ["Streams", "Engine"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-partner-postbacks", dependencies: ["Deliveries"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-postbacks", dependencies: ["Streams", "Engine"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-store-notifications", dependencies: ["Streams", "Engine"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-conversion-updates", dependencies: ["Streams", "Engine"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-costs", dependencies: ["Streams", "Engine"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-collector", dependencies: ["Collector"], swiftSettings: strict,
            linkerSettings: stripped),
        .target(name: "CDemoRecords"),
        .executableTarget(
            name: "weir",
            dependencies: [
                "Store", "Signatures", "CDemoRecords", "Collector", "ConversionModels",
                "ConversionValues", "DatabaseFiles", "EventLog", "History", "Reports",
                "JSON", "KafkaLog", "Monitoring",
                "Deliveries", "ConfigurationFiles", "Program", "Streams", "Engine", arguments,
                crypto, grdb, httpCore, httpTypes, logging, nio, nioPosix, yams,
            ],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-benchmarks",
            dependencies: [
                "Program",
                "Store", "Signatures", "Collector", "CRdKafka", "EventLog", "JSON",
                "KafkaLog", "Monitoring", "Streams", "TestKit", "Engine", arguments, crypto, http,
                logging,
            ],
            path: "Benchmarks", exclude: ["BareAuctions", "README.md"], swiftSettings: strict,
            linkerSettings: stripped),
        // Beside Weir in `weir-benchmarks kafka`. simdjson On-Demand is compiled with the program, for this machine.
        .executableTarget(
            name: "weir-bare-auctions", dependencies: ["CRdKafka"], path: "Benchmarks/BareAuctions",
            cxxSettings: [.unsafeFlags(["-O2", "-march=native"])],
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("sqlite3")]),
        .target(
            name: "TestKit",
            dependencies: [
                "Store", "CRdKafka", "EventLog", "KafkaLog", "Program", "History", "Reports",
                "ConfigurationFiles",
                "Streams", "Engine", asn1, certificates, crypto, grdb, logging, nio, nioPosix,
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/TestKit", swiftSettings: strict),
        // The operating system of a simulation: its calls come before those of the C library.
        .target(name: "CSimulatedSystem", path: "Tests/CSimulatedSystem"),
        .target(
            name: "Simulation",
            dependencies: [
                "CSimulatedSystem", "ConfigurationFiles", "ConversionModels", "ConversionValues",
                "DatabaseFiles", "Deliveries", "Engine", "EventLog", "History", "Program",
                "Reports", "Store", "Streams", "TestKit", logging,
            ],
            path: "Tests/Simulation", swiftSettings: strict),
        .executableTarget(
            name: "weir-simulate", dependencies: ["Program", "Simulation", arguments, logging],
            path: "Tests/weir-simulate", swiftSettings: strict),
        .testTarget(
            name: "SimulationTests", dependencies: ["TestKit", "weir-simulate"],
            swiftSettings: strict),
        .testTarget(
            name: "StoreTests",
            dependencies: ["EventLog", "Store", "Streams", "TestKit", grdb],
            swiftSettings: strict),
        .testTarget(
            name: "SignaturesTests",
            dependencies: ["JSON", "Signatures", "COpenSSL", "TestKit", crypto],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "CollectorTests",
            dependencies: [
                "Collector", "ConversionValues", "EventLog", "JSON", "Monitoring",
                "ConfigurationFiles", "Streams", "TestKit", "Engine", "weir-collector", crypto,
                grdb, yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ConversionModelsTests", dependencies: ["ConversionModels", "TestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "ConversionValuesTests",
            dependencies: [
                "ConversionModels", "ConversionValues", "EventLog", "ConfigurationFiles", "Streams",
                "TestKit", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DatabaseFilesTests",
            dependencies: [
                "CPageChecksums", "DatabaseFiles", "TestKit", grdb,
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EventLogTests", dependencies: ["DatabaseFiles", "EventLog", "TestKit", grdb],
            swiftSettings: strict),
        .testTarget(
            name: "HistoryTests",
            dependencies: [
                "Store", "EventLog", "History", "Reports", "ConfigurationFiles", "Streams",
                "TestKit", "Engine",
                "weir", "weir-bids", "weir-postbacks", grdb, logging,
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReportsTests",
            dependencies: [
                "Store", "Signatures", "ConversionModels", "DatabaseFiles", "EventLog",
                "Reports", "JSON", "ConfigurationFiles", "Streams", "TestKit", grdb,
            ],
            swiftSettings: strict),
        // What the JSON reader is compared with.
        .target(
            name: "CSimdjsonDOM", path: "Tests/CSimdjsonDOM",
            linkerSettings: [.linkedLibrary("simdjson")]),
        .target(
            name: "JSONComparison", dependencies: ["CSimdjsonDOM", "JSON"],
            path: "Tests/JSONComparison", swiftSettings: strict),
        .testTarget(
            name: "JSONTests", dependencies: ["JSON", "JSONComparison", "TestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "KafkaLogTests",
            dependencies: ["CRdKafka", "EventLog", "KafkaLog", "TestKit", logging],
            swiftSettings: strict),
        .testTarget(
            name: "MonitoringTests", dependencies: ["Monitoring", metrics], swiftSettings: strict),
        .testTarget(
            name: "OpsTests",
            dependencies: [
                "Streams", "Store", "Reports", "ConfigurationFiles", "TestKit", "weir", yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DeliveriesTests",
            dependencies: [
                "Store", "Streams", "Program", "Monitoring",
                "EventLog", "KafkaLog", "Deliveries", "ConfigurationFiles", "TestKit", "Engine",
                "weir-partner-postbacks", grdb, logging, nio, nioPosix,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            resources: [.copy("Certificates"), .copy("Presets")], swiftSettings: strict),
        .testTarget(
            name: "ConfigurationFilesTests",
            dependencies: [
                "Streams", "Signatures", "ConversionModels", "ConfigurationFiles", "Monitoring",
                "TestKit", crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "StreamsTests",
            dependencies: [
                "Signatures", "ConversionModels", "EventLog", "JSON", "Streams", "TestKit",
                crypto, yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "WeirCommandTests",
            dependencies: [
                "Store", "Signatures", "ConversionModels", "DatabaseFiles", "EventLog",
                "Reports", "JSON", "KafkaLog", "Deliveries", "ConfigurationFiles", "Streams",
                "TestKit", "Engine", "weir", grdb, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EngineTests",
            dependencies: [
                "CRdKafka", "Store", "Signatures", "ConversionModels", "EventLog", "History",
                "Reports", "KafkaLog", "Monitoring", "ConfigurationFiles", "Streams", "TestKit",
                "Engine", "weir", "weir-bids", "weir-impressions", "weir-conversion-updates",
                "weir-costs", "weir-overlay-clicks", "weir-postbacks", "weir-store-notifications",
                crypto, grdb,
                logging,
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)

// Tests run each fuzzing target over its corpus. libFuzzer brings the function `main`: the program is built by
// Tests/weir-fuzz/fuzz only, from the same folder.
let fuzzed: [Target.Dependency] = [
    "Collector", "ConfigurationFiles", "ConversionModels", "ConversionValues", "Deliveries",
    "EventLog", "History", "JSON", "JSONComparison", "Monitoring", "Signatures", "Streams",
    "TestKit",
    crypto, httpCore, httpTypes, logging, nio,
]
if Context.environment["WEIR_FUZZ"] != nil {
    // After each input libFuzzer goes over the counters of the whole program: those of libraries would take longer than
    // the input does.
    for target in package.targets where target.type == .regular {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-sanitize=fuzzer"])]
        target.cSettings =
            (target.cSettings ?? []) + [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]
        target.cxxSettings =
            (target.cxxSettings ?? []) + [.unsafeFlags(["-fsanitize=fuzzer-no-link"])]
    }
    package.targets.append(
        .executableTarget(
            name: "weir-fuzz", dependencies: fuzzed, path: "Tests/weir-fuzz",
            exclude: ["CorpusTests.swift", "corpora", "fuzz"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]))
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "Tests/weir-fuzz",
            exclude: ["Fuzz.swift", "corpora", "fuzz"], swiftSettings: strict))
}
