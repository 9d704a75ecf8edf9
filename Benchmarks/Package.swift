// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "weir-benchmarks",
    dependencies: [
        .package(name: "weir", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "weir-benchmarks",
            dependencies: [
                .product(name: "AppStoreSigning", package: "weir"),
                .product(name: "WeirLibraries", package: "weir"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    cxxLanguageStandard: .cxx17
)
