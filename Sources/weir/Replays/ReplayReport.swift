import Inspection
import Streams
import Worker

/// How far streams were replayed, as text.
struct ReplayReport {
    private let streams: [ReplayedStream]

    init(_ streams: [ReplayedStream]) {
        self.streams = streams
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        let table = TextTable(
            header: ["topic", "partition", "first_offset", "next_offset", "records"],
            isNumber: [false, true, true, true, true],
            rows: streams.flatMap { stream in
                stream.partitions.map { state in
                    [
                        stream.topic, "\(state.partition)", "\(state.firstOffset)",
                        "\(state.nextOffset)", "\(state.records)",
                    ]
                }
            })
        return table.lines.joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.array { json in
            for stream in streams {
                json.object { json in
                    json.name("stream")
                    json.string(stream.stream)
                    json.name("topic")
                    json.string(stream.topic)
                    json.name("complete")
                    json.raw(stream.isComplete)
                    json.name("partitions")
                    json.array { json in
                        for state in stream.partitions {
                            json.object { json in
                                json.name("partition")
                                json.raw(state.partition)
                                json.name("first_offset")
                                json.raw(state.firstOffset)
                                json.name("next_offset")
                                json.raw(state.nextOffset)
                                json.name("records")
                                json.raw(state.records)
                            }
                        }
                    }
                }
            }
        }
        return json.text.withoutControlsInJSON + "\n"
    }
}
