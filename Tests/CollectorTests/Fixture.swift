import Foundation
import TestKit
import Testing

/// A file of `Tests/Fixtures/collector`: requests, what each is answered, and the records that are in the
/// log then.
struct Fixture: CustomTestStringConvertible {
    let name: String
    private let text: Data

    var testDescription: String { name }

    struct Request {
        let method: String
        let target: String
        let headers: [String: String]
        let body: [UInt8]?
        let status: Int
        let error: String?
        let location: String?
    }

    static func all() throws -> [Fixture] {
        try Repository.files(in: "Tests/Fixtures/collector", endingIn: ".json").map {
            Fixture(name: $0.lastPathComponent, text: try Data(contentsOf: $0))
        }
    }

    private func json() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
    }

    func requests() throws -> [Request] {
        try #require(json()["requests"] as? [[String: Any]]).map { request in
            // A body that is text is sent as it stands there, any other as JSON.
            var body = (request["text"] as? String).map { Array($0.utf8) }
            if let value = request["json"] { body = try Self.bytes(value) }
            return Request(
                method: try #require(request["method"] as? String),
                target: try #require(request["target"] as? String),
                headers: request["headers"] as? [String: String] ?? [:], body: body,
                status: try #require(request["status"] as? Int),
                error: request["error"] as? String, location: request["location"] as? String)
        }
    }

    /// The records by topic, in the order of their values.
    func records() throws -> [String: [ExpectedRecord]] {
        let topics = try #require(json()["records"] as? [String: [[String: Any]]])
        let requests = try requests()
        return try topics.mapValues { records in
            try records.map { record in
                let value: [UInt8]
                if let index = record["body_of_request"] as? Int {
                    value = try #require(requests[index].body)
                } else if let text = record["text"] as? String {
                    value = Array(text.utf8)
                } else {
                    value = try Self.bytes(try #require(record["json"]))
                }
                return ExpectedRecord(
                    key: record["key"] as? String,
                    headers: try #require(record["headers"] as? [String: String]), value: value)
            }
        }
    }

    private static func bytes(_ json: Any) throws -> [UInt8] {
        Array(
            try JSONSerialization.data(
                withJSONObject: json, options: [.sortedKeys, .withoutEscapingSlashes]))
    }
}

/// What a record is to be: of its headers those that follow from the request.
struct ExpectedRecord: Equatable {
    var key: String?
    var headers: [String: String]
    var value: [UInt8]
}
