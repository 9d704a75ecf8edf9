import Attestation
import Foundation
import Testing

/// One line of `Vectors/skadnetwork.jsonl`.
struct Vector: CustomTestStringConvertible {
    let line: String

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
    }
    var kind: String { json["kind"] as? String ?? "" }
    var signed: String? { json["signed"] as? String }
    var publicKey: String? { json["public_key"] as? String }
    var verdict: Verdict? {
        Verdict.allCases.first { $0.name == json["verdict"] as? String }
    }
    var body: [String: Any] { json["postback"] as? [String: Any] ?? [:] }
    var postback: Postback { Postback(json: body) }
    var testDescription: String { "\(json["version"] ?? "") \(json["note"] ?? "")" }

    static let all: [Vector] = {
        guard
            let url = Bundle.module.url(
                forResource: "skadnetwork",
                withExtension: "jsonl",
                subdirectory: "Vectors"
            ), let text = try? String(contentsOf: url, encoding: .utf8)
        else { return [] }
        return text.split(separator: "\n").map { Vector(line: String($0)) }
    }()

    static func all(of kind: String) -> [Vector] { all.filter { $0.kind == kind } }
}
