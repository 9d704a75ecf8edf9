import Foundation
import Yams

/// Events of all topics with their fields, from the AsyncAPI documents in `topics`, as
/// docs/reference/events.md lists them.
struct EventReference {
    private let topics: [(name: String, document: Node)]
    private let text: MarkdownText

    init(_ topics: [(name: String, document: Node)]) throws {
        self.topics = topics
        text = try MarkdownText(page: "reference")
    }

    var lines: [String] {
        var lines: [String] = []
        if let first = topics.first?.document {
            let envelope = Schemas(first)
            lines += ["## Headers of records", ""]
            if let schema = envelope.schema("Envelope") {
                lines += self.lines(of: schema, in: envelope)
            }
        }
        for (name, document) in topics { lines += self.lines(of: document, topic: name) }
        return lines.dropLast(lines.last == "" ? 1 : 0)
    }

    private func lines(of document: Node, topic: String) -> [String] {
        let schemas = Schemas(document)
        let channel = document["channels"]?.mapping?.first?.value
        var lines = ["## `\(topic)`", ""]
        lines += text.paragraphs(document["info"]?["description"]?.string ?? "") + [""]
        let partitions = channel?["bindings"]?["kafka"]?["partitions"]?.int
        let retention = channel?["description"]?.string ?? ""
        lines += text.paragraphs(
            "\(partitions.map { "Partitions: \($0). " } ?? "")\(retention)")
        lines.append("")
        for (type, message) in document["components"]?["messages"]?.mapping ?? [:] {
            lines += self.lines(of: message, type: type.string ?? "", in: schemas)
        }
        for name in schemas.named where name != "Envelope" {
            guard let schema = schemas.schema(name), schemas.isObject(schema),
                !payloads(of: document).contains(name)
            else { continue }
            lines += ["### \(name) (\(topic))", ""] + self.lines(of: schema, in: schemas)
        }
        return lines
    }

    private func payloads(of document: Node) -> Set<String> {
        Set(
            (document["components"]?["messages"]?.mapping ?? [:]).compactMap {
                $0.value["payload"].flatMap(Schemas.reference)
            })
    }

    private func lines(of message: Node, type: String, in schemas: Schemas) -> [String] {
        let title = message["title"]?.string ?? ""
        let summary = message["summary"]?.string ?? ""
        var lines = ["### `\(type)`", ""]
        lines += text.paragraphs("\(title.hasSuffix(".") ? title : title + ".") \(summary)") + [""]
        let bindings = message["bindings"].map(schemas.resolved)
        if let key = bindings?["kafka"]?["key"].map(schemas.resolved)?["description"]?.string {
            lines += text.paragraphs("Key: \(key)") + [""]
        }
        if let payload = message["payload"] {
            lines += self.lines(of: schemas.resolved(payload), in: schemas)
        }
        return lines
    }

    /// A description and a list of fields.
    private func lines(of schema: Node, in schemas: Schemas) -> [String] {
        var lines: [String] = []
        if let description = schema["description"]?.string {
            lines += text.paragraphs(description) + [""]
        }
        let items = self.items(of: schema, prefix: "", in: schemas)
        return items.isEmpty ? lines : lines + items + [""]
    }

    /// The fields of an object, each followed by those of an object in it that has no name of its own.
    private func items(of schema: Node, prefix: String, in schemas: Schemas) -> [String] {
        schemas.fields(of: schema).flatMap { field in
            let description = schemas.description(of: field.schema)
            let item = text.item(
                "`\(prefix)\(field.name)` (\(schemas.kind(of: field.schema))\(field.isRequired ? "; required" : ""))"
                    + (description.isEmpty ? "" : ": \(description)"))
            guard let (inner, suffix) = schemas.unnamedObject(in: field.schema) else { return item }
            return item + items(of: inner, prefix: "\(prefix)\(field.name)\(suffix).", in: schemas)
        }
    }
}

/// The schemas of an AsyncAPI document.
private struct Schemas {
    let document: Node

    init(_ document: Node) { self.document = document }

    var named: [String] {
        document["components"]?["schemas"]?.mapping?.keys.compactMap(\.string) ?? []
    }

    func schema(_ name: String) -> Node? { document["components"]?["schemas"]?[name] }

    /// The last part of a `$ref`.
    static func reference(_ node: Node) -> String? {
        node["$ref"]?.string?.split(separator: "/").last.map(String.init)
    }

    /// What a `$ref` leads to.
    func resolved(_ node: Node) -> Node {
        guard let path = node["$ref"]?.string, path.hasPrefix("#/") else { return node }
        let found = path.dropFirst(2).split(separator: "/").reduce(Node?.some(document)) {
            $0?[String($1)]
        }
        return found.map(resolved) ?? node
    }

    /// The schema and all that it includes.
    private func parts(of schema: Node) -> [Node] {
        let schema = resolved(schema)
        return [schema] + (schema["allOf"]?.sequence ?? []).flatMap(parts)
    }

    func isObject(_ schema: Node) -> Bool { parts(of: schema).contains { $0["properties"] != nil } }

    func fields(of schema: Node) -> [(name: String, schema: Node, isRequired: Bool)] {
        let parts = parts(of: schema)
        let required = Set(
            parts.flatMap { $0["required"]?.sequence?.compactMap(\.string) ?? [] })
        var fields: [(name: String, schema: Node, isRequired: Bool)] = []
        for (name, schema) in parts.flatMap({ Array($0["properties"]?.mapping ?? [:]) }) {
            let field = (name.string ?? "", schema, required.contains(name.string ?? ""))
            // A part may say more of a field than an earlier one.
            if let existing = fields.firstIndex(where: { $0.name == field.0 }) {
                fields[existing] = field
            } else {
                fields.append(field)
            }
        }
        return fields
    }

    /// An object without a name of its own, in a field or in the list of a field.
    func unnamedObject(in schema: Node) -> (schema: Node, suffix: String)? {
        let parts = parts(of: schema)
        if isObject(schema) { return name(of: schema) == nil ? (schema, "") : nil }
        guard let items = parts.lazy.compactMap({ $0["items"] }).first, name(of: items) == nil,
            isObject(items)
        else { return nil }
        return (items, "[]")
    }

    func description(of schema: Node) -> String {
        if let own = schema["description"]?.string { return own }
        // An object is described where its fields are.
        guard !isObject(schema) else { return "" }
        return parts(of: schema).compactMap { $0["description"]?.string }.first ?? ""
    }

    /// The type of a field and its bounds, in words.
    func kind(of schema: Node) -> String {
        let parts = parts(of: schema)
        func value(_ key: String) -> Node? { parts.lazy.compactMap { $0[key] }.first }
        if let name = self.name(of: schema), isObject(schema) { return "object \(name)" }
        if let choices = value("oneOf")?.sequence {
            return choices.map(kind).joined(separator: ", or ")
        }
        if let constant = value("const")?.string { return "`\(constant)`" }
        if let words = value("enum")?.sequence {
            return words.compactMap(\.string).map { "`\($0)`" }.joined(separator: ", ")
                + byDefault(value("default"))
        }
        let types = (value("type")?.sequence.map(Array.init) ?? [value("type")].compactMap { $0 })
            .map {
                type in
                switch type.string {
                case "integer": "whole number"
                case "string": "text"
                case "boolean": "true or false"
                case "array": "list" + (value("items").map { " of \(kind(of: $0))" } ?? "")
                default: type.string ?? ""
                }
            }
        var words = types.isEmpty ? "any value" : types.joined(separator: " or ")
        let bounds = (value("minimum")?.string, value("maximum")?.string)
        switch bounds {
        case (let low?, let high?): words += " from \(low) to \(high)"
        case (let low?, nil): words += " from \(low)"
        case (nil, let high?): words += " up to \(high)"
        case (nil, nil): break
        }
        if let length = value("maxLength")?.string { words += ", at most \(length) characters" }
        if let length = value("minLength")?.string {
            words += length == "1" ? ", not empty" : ", at least \(length) characters"
        }
        if let format = value("format")?.string { words += ", \(format)" }
        return words + byDefault(value("default"))
    }

    private func byDefault(_ node: Node?) -> String {
        guard let text = node?.string else { return "" }
        return text.isEmpty ? "; default empty" : "; default `\(text)`"
    }

    /// The name under which a schema is listed.
    private func name(of schema: Node) -> String? {
        if let name = Self.reference(schema) { return name }
        return (schema["allOf"]?.sequence ?? []).compactMap { self.name(of: $0) }.first
    }
}
