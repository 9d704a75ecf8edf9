import ConfigurationValues
import Foundation
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Presets")
struct PresetTests {
    @Test(
        "a preset sends the fields that stand beside this test, a line each",
        arguments: Partner.Delivery.Preset.allCases)
    func fields(_ preset: Partner.Delivery.Preset) throws {
        var text = ""
        for document in [Documents.install(country: "\"DE\""), Documents.reEngagement] {
            let request = try #require(
                try PartnerFiles("url: https://e.example/\npreset: \(preset.rawValue)")
                    .request(document))
            let pairs = String(decoding: request.body ?? [], as: UTF8.self).split(separator: "&")
            text += pairs.map { "\($0.removingPercentEncoding ?? "")\n" }.joined() + "\n"
        }
        let file = try #require(
            Bundle.module.url(
                forResource: preset.rawValue, withExtension: "txt", subdirectory: "Presets"))
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test("the same fields go to a form, to JSON with their types, or to the address")
    func destinations() throws {
        let base = "url: https://e.example/p?k=1\npreset: singular\n"
        func request(_ further: String) throws -> OutgoingRequest {
            try #require(try PartnerFiles(base + further).request(Documents.install()))
        }
        let form = try request("")
        let fields = String(decoding: form.body ?? [], as: UTF8.self)
        #expect(fields.hasPrefix("src=weir&attribution_type=skadnetwork&skan_postback=eyJ2"))
        for way in ["method: GET", "body: none"] {
            let other = try request(way)
            #expect(other.url == "https://e.example/p?k=1&" + fields)
            #expect(other.body == nil)
        }
        let json = String(decoding: try request("body: json").body ?? [], as: UTF8.self)
        #expect(json.hasPrefix("{\"src\":\"weir\",\"attribution_type\":\"skadnetwork\""))
        #expect(json.contains("\"app_id\":525463029,"))
        #expect(json.hasSuffix("\"events\":[\"purchase\",\"tutorial_completed\"]}"))
    }

    @Test("fields of the file's own are added, and go before the preset's of their names")
    func own() throws {
        let form = try PartnerFiles(
            "url: https://e.example/\npreset: singular\nbody: {form: {src: me, extra: \"{id}\", revenue: \"{conversion.revenue.min}\"}}"
        ).request(Documents.install())
        let names = String(decoding: form?.body ?? [], as: UTF8.self).split(separator: "&")
            .map { String($0.prefix { $0 != "=" }) }
        #expect(
            names == [
                "attribution_type", "skan_postback", "app_id", "timestamp", "events", "src",
                "extra", "revenue",
            ])
    }
}
