import Inspection
import PartnerPostbacks
import Pipelines
import Streams

/// A request to a partner as text, with secrets masked.
struct RequestReport {
    private let request: PartnerRequest

    init(_ request: PartnerRequest) {
        self.request = request
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: plain
        case .json: json
        }
    }

    private var plain: String {
        let noAddress = Partner.Delivery.noAddress
        let url =
            request.url.hasPrefix(noAddress)
            ? "(no url is set)" + request.url.dropFirst(noAddress.count) : request.url
        var lines = ["\(request.method) \(url)"]
        lines += request.headers.map { "\($0.name): \($0.value)" }
        if let body = request.body { lines += ["", String(decoding: body, as: UTF8.self)] }
        return lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.object { json in
            json.name("method")
            json.string(request.method)
            json.name("url")
            json.string(request.url.hasPrefix(Partner.Delivery.noAddress) ? nil : request.url)
            json.name("headers")
            json.array { json in
                for header in request.headers {
                    json.object { json in
                        json.name("name")
                        json.string(header.name)
                        json.name("value")
                        json.string(header.value)
                    }
                }
            }
            json.name("body")
            json.string(request.body.map { String(decoding: $0, as: UTF8.self) })
        }
        return json.text.withoutControlsInJSON + "\n"
    }
}
