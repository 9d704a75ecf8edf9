// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
// Tests fold millions of records. Debug builds optimise the rooms that take most of their time.
let optimised = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]
// Code on the record path. Debug builds, which tests use, check for overlapping accesses; release builds would do
// so for each record. Generic code is specialised across modules.
let hot =
    optimised + [
        .unsafeFlags(
            ["-enforce-exclusivity=unchecked", "-cross-module-optimization"],
            .when(configuration: .release))
    ]
// Debug information would be three fifths of each program. Names of functions stay, for backtraces. ops/package moves
// it into a package of its own.
let stripped: [LinkerSetting] =
    Context.environment["WEIR_SYMBOLS"] != nil
    ? [] : [.unsafeFlags(["-Xlinker", "-S"], .when(configuration: .release))]
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let certificates = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let http = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let httpCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
// Compiling BoringSSL, a second time after swift-crypto, would take a quarter of a build. `ops/run` leaves it out.
let tls: [Target.Dependency] = [
    .product(
        name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["TLS"])),
    .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
]
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
    traits: [
        .trait(name: "TLS", description: "The collector can serve HTTPS itself."),
        .default(enabledTraits: ["TLS"]),
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
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(name: "Wording", swiftSettings: strict),
        .target(name: "CShippedFiles"),
        .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "JSON", dependencies: ["CSimdjson"], swiftSettings: hot),
        // Every page that is read or written is summed, in tests too.
        .target(
            name: "CPageChecksums", cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "DatabaseFiles", dependencies: ["CPageChecksums", grdb], swiftSettings: hot),
        .target(name: "EventLog", dependencies: ["JSON", crypto], swiftSettings: hot),
        .systemLibrary(
            name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .target(
            name: "EmbeddedLog",
            dependencies: ["DatabaseFiles", "EventLog", grdb, grdbSQLite], swiftSettings: hot),
        .target(
            name: "KafkaLog", dependencies: ["CRdKafka", "DatabaseFiles", "EventLog", logging],
            swiftSettings: hot),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "Signatures",
            dependencies: ["COpenSSL", "JSON", asn1, certificates, crypto],
            swiftSettings: optimised),
        .target(name: "ConversionModels", swiftSettings: optimised),
        .target(
            name: "Program",
            dependencies: [
                "ConfigurationValues", "EmbeddedLog", "EventLog", "KafkaLog", "Monitoring",
                "Wording",
                arguments,
                logging,
            ],
            swiftSettings: strict),
        .target(
            name: "ConfigurationValues", dependencies: ["ConversionModels", "Wording"],
            swiftSettings: strict),
        .target(
            name: "ConfigurationFiles",
            dependencies: [
                "ConfigurationValues", "CShippedFiles", "DatabaseFiles", "Monitoring", "Streams",
                "Wording", yams,
            ],
            swiftSettings: strict),
        .target(
            name: "Streams",
            dependencies: [
                "ConfigurationValues", "ConversionModels", "EventLog", "JSON", "Signatures",
                "Wording",
                crypto,
            ],
            swiftSettings: hot),
        .target(
            name: "Demonstration", dependencies: ["COpenSSL", "EventLog", "Streams", crypto],
            swiftSettings: optimised),
        .target(
            name: "Store",
            dependencies: [
                "DatabaseFiles", "EventLog", "JSON", "Streams", "Wording", crypto, grdb,
                grdbSQLite,
            ],
            swiftSettings: hot),
        .target(
            name: "Monitoring",
            dependencies: [
                "JSON", http, httpCore, httpTypes, logging, metrics, nio, nioHTTP, nioPosix,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
            ],
            swiftSettings: hot),
        .target(
            name: "Engine",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "EmbeddedLog",
                "EventLog", "JSON", "Monitoring", "Program", "Store", "Streams", "Wording",
                arguments, logging, metrics,
            ],
            swiftSettings: optimised),
        .target(
            name: "ConversionValues",
            dependencies: [
                "ConversionModels", "DatabaseFiles", "EventLog", "JSON", "Store", "Streams", crypto,
                grdb,
            ],
            swiftSettings: optimised),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "HTTPClient",
            dependencies: ["CCurl", "EventLog", "Monitoring", "Streams", nioPosix],
            swiftSettings: strict),
        .target(
            name: "Deliveries",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "DatabaseFiles", "Engine",
                "EventLog", "HTTPClient", "JSON", "KafkaLog", "Monitoring", "Program", "Store",
                "Streams", "Wording", arguments, crypto, grdb, logging, metrics, nioPosix,
            ],
            swiftSettings: strict),
        .target(
            name: "Reports",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "DatabaseFiles",
                "EventLog", "JSON", "Program", "Store", "Streams", "Wording", crypto, grdb,
            ],
            swiftSettings: optimised),
        .target(
            name: "History",
            dependencies: [
                "ConfigurationFiles", "ConfigurationValues", "ConversionModels", "ConversionValues",
                "DatabaseFiles", "EmbeddedLog", "Engine", "EventLog", "HTTPClient", "JSON",
                "KafkaLog",
                "Monitoring", "Program", "Reports", "Signatures", "Store", "Streams", "Wording",
                crypto, logging,
            ],
            swiftSettings: optimised),
        .target(
            name: "Tokens",
            dependencies: [
                "ConfigurationFiles", "ConfigurationValues", "JSON", "Streams", crypto,
            ],
            swiftSettings: strict),
        .target(
            name: "Dashboard",
            dependencies: [
                "ConfigurationFiles", "ConfigurationValues", "ConversionModels", "Engine",
                "EventLog",
                "History", "JSON", "Monitoring", "Program", "Reports", "Signatures", "Store",
                "Streams", "Tokens",
                "Wording", crypto, http, httpTypes, logging, nio, nioPosix,
            ],
            swiftSettings: strict),
        .target(
            name: "Collector",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionValues", "EmbeddedLog",
                "EventLog", "JSON", "Monitoring", "Program", "Streams", "Tokens", "Wording",
                arguments,
                crypto, http, httpCore, httpTypes, logging, metrics, nio, nioPosix,
            ] + tls,
            swiftSettings: hot),
        .executableTarget(
            name: "weir-bids", dependencies: ["Engine", "Streams"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-impressions", dependencies: ["Engine", "Streams"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-overlay-clicks", dependencies: ["Engine", "Streams"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-partner-postbacks", dependencies: ["Deliveries"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-postbacks", dependencies: ["Engine", "Streams"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-store-notifications", dependencies: ["Engine", "Streams"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-conversion-updates", dependencies: ["Engine", "Streams"],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-costs", dependencies: ["Engine", "Streams"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir-collector", dependencies: ["Collector"], swiftSettings: strict,
            linkerSettings: stripped),
        .executableTarget(
            name: "weir",
            dependencies: [
                "Collector", "ConfigurationValues", "ConfigurationFiles", "ConversionModels",
                "ConversionValues", "Dashboard", "DatabaseFiles", "Deliveries", "Demonstration",
                "EmbeddedLog", "Engine", "EventLog", "HTTPClient", "History", "JSON", "KafkaLog",
                "Monitoring", "Program", "Reports", "Signatures", "Store", "Streams", "Tokens",
                "Wording", arguments, crypto, grdb, logging, nio, nioPosix, yams,
            ],
            swiftSettings: strict, linkerSettings: stripped),
        .executableTarget(
            name: "weir-benchmarks",
            dependencies: [
                "Collector", "ConfigurationFiles", "ConfigurationValues", "CRdKafka", "Dashboard",
                "Demonstration", "EmbeddedLog", "Engine", "EventLog", "History", "JSON", "KafkaLog",
                "Monitoring", "Program", "Reports", "Signatures", "Store", "Streams", "TestKit",
                arguments, crypto, grdb, http, logging,
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
                "ConfigurationValues", "ConfigurationFiles", "CRdKafka", "Demonstration",
                "EmbeddedLog", "Engine", "EventLog", "History", "KafkaLog", "Program", "Reports",
                "Store", "Streams", asn1,
                certificates, crypto, grdb, logging, nio, nioPosix,
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/TestKit", swiftSettings: strict),
        // The operating system of a simulation: its calls come before those of the C library.
        .target(name: "CSimulatedSystem", path: "Tests/CSimulatedSystem"),
        .target(
            name: "Simulation",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "ConversionValues",
                "CSimulatedSystem", "DatabaseFiles", "Deliveries", "EmbeddedLog", "Engine",
                "EventLog", "HTTPClient", "History", "Program", "Reports", "Store", "Streams",
                "TestKit", grdb,
                logging,
            ],
            path: "Tests/Simulation", swiftSettings: optimised),
        .executableTarget(
            name: "weir-simulate", dependencies: ["Program", "Simulation", arguments, logging],
            path: "Tests/weir-simulate", swiftSettings: strict),
        .testTarget(
            name: "SimulationTests", dependencies: ["TestKit", "weir-simulate"],
            swiftSettings: strict),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "ConfigurationFiles", "ConfigurationValues", "EventLog", "History", "Store",
                "Streams", "TestKit", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SignaturesTests",
            dependencies: ["COpenSSL", "JSON", "Signatures", "TestKit", crypto],
            resources: [.copy("Vectors")], swiftSettings: strict),
        .testTarget(
            name: "CollectorTests",
            dependencies: [
                "Collector", "ConfigurationValues", "ConfigurationFiles", "ConversionValues",
                "EmbeddedLog", "EventLog", "JSON", "Monitoring", "Program", "Streams", "TestKit",
                "Tokens",
                "weir-collector", crypto, grdb, yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ConversionModelsTests", dependencies: ["ConversionModels", "TestKit"],
            swiftSettings: strict),
        .testTarget(
            name: "ConversionValuesTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "ConversionValues",
                "EmbeddedLog", "EventLog", "Streams", "TestKit", grdb,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DashboardTests", dependencies: ["Dashboard"], swiftSettings: strict),
        .testTarget(
            name: "DemonstrationTests", dependencies: ["Demonstration", "EventLog"],
            swiftSettings: strict),
        .testTarget(
            name: "DatabaseFilesTests",
            dependencies: ["CPageChecksums", "DatabaseFiles", "TestKit", grdb, grdbSQLite],
            swiftSettings: strict),
        .testTarget(
            name: "EventLogTests",
            dependencies: ["DatabaseFiles", "EmbeddedLog", "EventLog", "TestKit", grdb],
            swiftSettings: strict),
        .testTarget(
            name: "HistoryTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionValues", "DatabaseFiles",
                "EmbeddedLog", "Engine", "EventLog", "History", "Program", "Reports", "Store",
                "Streams", "TestKit", "weir", "weir-bids", "weir-postbacks", crypto, grdb, logging,
                grdbSQLite,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReportsTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "DatabaseFiles",
                "EventLog", "JSON", "Reports", "Signatures", "Store", "Streams", "TestKit", grdb,
            ],
            swiftSettings: strict),
        // The JSON reader is compared with it.
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
            dependencies: ["CRdKafka", "EmbeddedLog", "EventLog", "KafkaLog", "TestKit", logging],
            swiftSettings: strict),
        .testTarget(
            name: "MonitoringTests", dependencies: ["Monitoring", metrics], swiftSettings: strict),
        .testTarget(
            name: "OpsTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "Reports", "Store", "Streams",
                "TestKit",
                "weir", yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DeliveriesTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "Deliveries", "EmbeddedLog",
                "EventLog", "HTTPClient",
                "JSON", "KafkaLog", "Monitoring", "Program", "Store", "Streams", "TestKit",
                "weir-partner-postbacks", grdb, logging, nio, nioPosix,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            resources: [.copy("Certificates"), .copy("Presets")], swiftSettings: strict),
        .testTarget(
            name: "ConfigurationFilesTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "Monitoring",
                "Signatures", "Streams", "TestKit", crypto,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "StreamsTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "EventLog", "JSON",
                "Signatures", "Streams", "TestKit", crypto, yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "WeirCommandTests",
            dependencies: [
                "Collector", "ConfigurationValues", "ConfigurationFiles", "ConversionModels",
                "Dashboard", "DatabaseFiles", "Deliveries", "Demonstration", "EmbeddedLog",
                "Engine", "EventLog", "History", "JSON", "Monitoring", "Program", "Reports",
                "Signatures", "Store", "Streams", "TestKit", "Tokens", "weir", "Wording", grdb,
                logging, yams,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EngineTests",
            dependencies: [
                "ConfigurationValues", "ConfigurationFiles", "ConversionModels", "CRdKafka",
                "EmbeddedLog", "Engine", "EventLog", "History", "KafkaLog", "Monitoring", "Program",
                "Reports", "Signatures", "Store", "Streams", "TestKit", "weir", "weir-bids",
                "weir-conversion-updates", "weir-costs", "weir-impressions", "weir-overlay-clicks",
                "weir-postbacks", "weir-store-notifications", crypto, grdb, logging,
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)

// Tests run each fuzzing target over its corpus. libFuzzer brings the function `main`: the program is built by
// Tests/weir-fuzz/fuzz only, from the same folder.
let fuzzed: [Target.Dependency] = [
    "Collector", "ConfigurationFiles", "ConfigurationValues", "ConversionModels",
    "ConversionValues",
    "Deliveries", "EmbeddedLog",
    "EventLog", "HTTPClient", "History", "JSON", "JSONComparison", "Monitoring", "Signatures",
    "Streams",
    "TestKit", "Tokens",
    crypto, http, httpTypes, logging, nio,
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
