import EventLog
import Foundation
import JSONReader
import PartnerPostbacks
import Pipelines
import Streams

/// Where the document of a preview comes from.
struct PreviewSource {
    let partner: String
    let data: DataOptions
    let log: LogOptions

    /// The document that an option names; without one, the newest of the partner.
    func document(
        _ option: String?, pipelines: PipelineDirectory
    ) throws -> PostbackDocument {
        guard let parser = JSONParser() else {
            throw CommandError.failure("no memory for a JSON parser")
        }
        let bytes: [UInt8] =
            switch option {
            case nil: try newest(parser, pipelines: pipelines)
            case let id? where id.wholeMatch(of: /[0-9a-f]{32}/) != nil: try stored(id)
            case let file?: try unwrapped(contents(of: file), parser)
            }
        do throws(UnreadableDocument) {
            return try PostbackDocument(bytes, parser: parser)
        } catch {
            throw CommandError.failure(
                "\(option ?? "the newest record") is no document of partner-postbacks: \(error)")
        }
    }

    private func stored(_ id: String) throws -> [UInt8] {
        for store in try data.deliveryStores() {
            if let last = try store.history(of: id).last { return last.document }
        }
        throw CommandError.failure(
            "no delivery of '\(id)' in \(data.directories.joined(separator: ", ")): give a file")
    }

    private func contents(of path: String) throws -> [UInt8] {
        do {
            guard path != "-" else {
                return [UInt8](try FileHandle.standardInput.readToEnd() ?? Data())
            }
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw CommandError.failure(
                "cannot read \(path): give a file that is there and readable, or an id")
        }
    }

    /// The value of a record's line; anything else is the document itself.
    private func unwrapped(_ bytes: [UInt8], _ parser: JSONParser) throws -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            guard let value = try? parser.parse(bytes).member("value"), value.isObject else {
                return Array(bytes)
            }
            var json = JSONText()
            json.value(value)
            return Array(json.text.utf8)
        }
    }

    private func newest(_ parser: JSONParser, pipelines: PipelineDirectory) throws -> [UInt8] {
        let topic = try pipelines.partnerPostbacksTopic()
        let log = try log.open(.existing, dataDirectories: data.directories)
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        var newest: (timestamp: Int64, bytes: [UInt8])?
        var reading = try TopicReading(reader, partition: nil, from: nil, to: nil)
        try reading.readStretch { record in
            guard record.timestampMilliseconds >= newest?.timestamp ?? .min,
                let bytes = record.value,
                let name = try? parser.parse(bytes).member("partner")?.string,
                name.elementsEqual(partner.utf8)
            else { return }
            newest = (record.timestampMilliseconds, Array(bytes))
        }
        guard let newest else {
            throw CommandError.failure(
                "no document for '\(partner)' in \(topic) of \(log.address): give --postback a file"
            )
        }
        return newest.bytes
    }
}
