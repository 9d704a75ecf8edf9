import Foundation
import TestKit
import Testing
import Yams

@testable import Collector

@Suite("docs/openapi/collector.yaml")
struct OpenAPITests {
    private let document: [String: Any]

    init() throws {
        let text = try Repository.text("docs/openapi/collector.yaml")
        document = try #require(try Yams.load(yaml: text) as? [String: Any])
    }

    private func paths() throws -> [String: [String: [String: Any]]] {
        try #require(document["paths"] as? [String: [String: [String: Any]]])
    }

    @Test("has every route of the collector, and no other, each with its media types")
    func routes() throws {
        let conversions = try ConversionWorkspace()
        let workspace = try CollectorWorkspace(more: conversions.routes)
        var documented: [String: [String]] = [:]
        for (path, operations) in try paths() {
            for (method, operation) in operations {
                var types: [String] = []
                if let body = try resolve(operation["requestBody"]) as? [String: Any] {
                    types = (body["content"] as? [String: Any]).map { $0.keys.sorted() } ?? []
                }
                documented["\(method.uppercased()) \(path)"] = types
            }
        }
        let served = Dictionary(
            uniqueKeysWithValues: workspace.collector.routes.map {
                ("\($0.method.rawValue) \($0.path)", $0.mediaTypes.sorted())
            })
        #expect(documented == served)
    }

    @Test("names the status of every request of the fixtures, and the members of every refusal")
    func statuses() throws {
        for fixture in try Fixture.all() {
            for request in try fixture.requests() {
                guard let operation = try operation(request.method, request.target) else {
                    #expect([404, 405].contains(request.status), "\(request.target)")
                    continue
                }
                let responses = try #require(operation["responses"] as? [String: Any])
                #expect(
                    responses["\(request.status)"] != nil || request.error == "malformed_query",
                    "\(request.method) \(request.target) \(request.status)")
            }
        }
    }

    @Test("has examples that the collector takes")
    func examples() throws {
        let conversions = try ConversionWorkspace()
        let workspace = try CollectorWorkspace(more: conversions.routes)
        var sent = 0
        for (path, operations) in try paths() {
            guard let body = try resolve(operations["post"]?["requestBody"]) as? [String: Any]
            else { continue }
            for (type, content) in body["content"] as? [String: [String: Any]] ?? [:] {
                guard let example = content["example"] else { continue }
                // A JWS is no example that one can read.
                if path.contains("adattributionkit") || path.contains("appattribution") { continue }
                let text =
                    try example as? String
                    ?? String(
                        decoding: JSONSerialization.data(withJSONObject: example), as: UTF8.self)
                let answer = try workspace.post(
                    path.replacing("{topic}", with: "impressions"), text, type: type,
                    headers: ["Authorization": "Bearer \(CollectorWorkspace.producerKey)"])
                #expect(answer.status == 200, "\(path): \(answer.text)")
                sent += 1
            }
        }
        #expect(sent == 12)
    }

    @Test("refers to nothing that it does not have")
    func references() throws {
        func visit(_ value: Any) throws {
            if let object = value as? [String: Any] {
                _ = try resolve(object)
                for member in object.values { try visit(member) }
            }
            for element in value as? [Any] ?? [] { try visit(element) }
        }
        try visit(document)
    }

    private func operation(_ method: String, _ target: String) throws -> [String: Any]? {
        var path = String(target.prefix { $0 != "?" })
        if path.hasSuffix("/") { path.removeLast() }
        let paths = try paths()
        let described =
            paths[path] ?? (path.hasPrefix("/v1/events/") ? paths["/v1/events/{topic}"] : nil)
        return described?[method.lowercased()]
    }

    /// What a value refers to; itself when it refers to nothing.
    private func resolve(_ value: Any?) throws -> Any? {
        guard let reference = (value as? [String: Any])?["$ref"] as? String else { return value }
        var found: Any = document
        for step in reference.dropFirst(2).split(separator: "/") {
            found = try #require((found as? [String: Any])?[String(step)], "\(reference)")
        }
        return found
    }
}
