import Foundation
import Streams
import TestKit

/// All targets. Help, the script `fuzz` and the tests go by this list.
let fuzzTargets: [FuzzTarget] =
    [
        FuzzTarget(
            "json",
            "Weir's second stage and simdjson's own find the same values in the same documents",
            documents, samples: { try allStreams.flatMap { try recordValues(of: $0.streamName) } })
    ] + allStreams.map { FuzzTarget(stream: $0) } + [
        FuzzTarget(
            "headers",
            "headers come out as they were put in, and a record with any of them has one outcome",
            headers),
        FuzzTarget(
            "jws",
            "what a chain signed is verified and reads as it was signed, with one byte altered never",
            jws),
        FuzzTarget(
            "certificates",
            "a chain with an altered byte in what its issuers signed verifies nothing", certificates
        ),
        FuzzTarget(
            "signed-notifications",
            "a signed notification has one outcome, and is refused with one byte altered",
            signedNotifications, samples: notificationPayloads),
        FuzzTarget(
            "signed-postbacks",
            "a signed postback is valid, and another one with its signature never",
            signedPostbacks, samples: signablePostbacks),
        FuzzTarget(
            "models",
            "what a model encodes decodes to what was encoded, and its recorded text is the same model",
            models),
        FuzzTarget(
            "templates",
            "a request goes to the address in the partner's file, whatever the document says",
            templates),
        FuzzTarget(
            "configuration",
            "a file has the same faults each time, each with its file, a line of it, and one line of words",
            configuration, samples: shippedFiles),
        FuzzTarget(
            "tokens",
            "a token reads as it was signed, for its use only, and with one byte altered not at all",
            tokens),
        FuzzTarget(
            "http",
            "a request is answered, the same each time, and what is refused appends nothing",
            requests, samples: sentRequests),
        FuzzTarget(
            "tar", "an archive that is read and written again holds the same files", archives),
        FuzzTarget(
            "evidence", "evidence of others is verified with the same checks each time", evidence),
    ]

/// A reader of what others made, and what has to hold of it whatever they made.
struct FuzzTarget: Sendable {
    /// Takes one input. Throws `Contradiction` when what has to hold does not.
    typealias Run = ([UInt8]) throws -> Void

    let name: String
    let guarantee: String
    let make: @Sendable () throws -> Run
    private let samples: @Sendable () throws -> [[UInt8]]

    init(
        _ name: String, _ guarantee: String, _ make: @escaping @Sendable () throws -> Run,
        samples: @escaping @Sendable () throws -> [[UInt8]] = { [] }
    ) {
        self.name = name
        self.guarantee = guarantee
        self.make = make
        self.samples = samples
    }

    /// Inputs to begin with: of the test fixtures, and the files of `corpora/<name>`.
    func corpus() throws -> [[UInt8]] {
        let folder = "Tests/weir-fuzz/corpora/\(name)"
        let isThere = FileManager.default.fileExists(atPath: Repository.path(folder))
        let files = isThere ? try Repository.files(in: folder, endingIn: "") : []
        return try samples() + files.map { Array(try Data(contentsOf: $0)) }
    }
}

/// What has to hold does not.
struct Contradiction: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(
    _ holds: Bool, _ otherwise: @autoclosure () -> String
) throws(Contradiction) {
    if !holds { throw Contradiction(otherwise()) }
}

/// Runs twice, and returns what came of it. Throws when that differs.
func same<Value: Equatable>(
    _ what: String, _ body: () throws -> Value
) throws(Contradiction) -> Result<Value, any Error> {
    let (first, second) = (Result(catching: body), Result(catching: body))
    switch (first, second) {
    case (.success(let one), .success(let other)):
        try require(one == other, "\(what): twice another result")
    case (.failure(let one), .failure(let other)):
        try require("\(one)" == "\(other)", "\(what): \(one), and then \(other)")
    default: throw Contradiction("\(what): once an error, once none")
    }
    return first
}
