import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import Streams
import TestKit
import Testing

@Suite("The files that Weir ships")
struct ShippedFilesTests {
    private let directory = PipelineDirectory(Repository.path("pipelines"))

    @Test("nothing is wrong with them")
    func check() { #expect(directory.check() == []) }

    @Test("the settings that they write out are the defaults")
    func defaults() throws {
        let names = allStreams.map { $0.streamName } + ["partner-postbacks"]
        let empty = try TemporaryPipelines(
            Dictionary(uniqueKeysWithValues: names.map { ("\($0).yaml", "") }))
        #expect(
            try directory.partnerPostbacks() == empty.read { try $0.partnerPostbacks() })
        for stream in allStreams {
            let (shipped, byDefault) = (
                try stream.file(in: directory), try empty.read { try stream.file(in: $0) }
            )
            #expect(shipped.settings == byDefault.settings)
            #expect(shipped.dedupeWindowSeconds == byDefault.dedupeWindowSeconds)
        }
        let postbacks = try (directory.postbacks(), empty.read { try $0.postbacks() })
        #expect(postbacks.0.trustsDevelopment == postbacks.1.trustsDevelopment)
        #expect(postbacks.0.productionKeys == postbacks.1.productionKeys)
        #expect(postbacks.0.developmentKeys == postbacks.1.developmentKeys)
        #expect(postbacks.0.adAttributionKitKeys == postbacks.1.adAttributionKitKeys)
        #expect(try directory.collector() == empty.read { try $0.collector() })
        // Whose notifications count has no default: there the demo's app and root are.
        let notifications = try directory.storeNotifications()
        let byDefault = try empty.read { try $0.storeNotifications() }
        #expect(notifications.environments == byDefault.environments)
    }

    @Test("the catalog names networks, apps and campaigns, each campaign by its last two digits")
    func catalog() throws {
        let catalog = try directory.catalog()
        #expect(catalog.networkName("su67r6k2v3.skadnetwork") == "ironSource")
        #expect(catalog.networkName("v9wttpbfk9.skadnetwork") == "Meta")
        #expect(catalog.networkName("mj797d8u6f.skadnetwork") == "TikTok")
        #expect(catalog.networkName("com.example") != nil)
        for app: Int64 in [525_463_029, 1_176_027_022, 1_434_505_322] {
            #expect(catalog.appName(app) != nil)
        }
        for campaign in catalog.campaigns {
            let digits = try #require(campaign.sourceIdentifier).suffix(2)
            #expect(
                catalog.campaign(
                    network: campaign.network, app: campaign.app, campaign: String(digits))
                    == .matched(campaign))
        }
    }

    @Test("the models are those of the catalog's apps, with coarse values for every window")
    func models() throws {
        let models = try directory.conversionModels()
        #expect(models.map(\.app) == [525_463_029, 1_176_027_022, 1_434_505_322])
        #expect(models.map(\.versions.count) == [2, 1, 2])
        for version in models.flatMap(\.versions) {
            for window in 0...2 {
                #expect(!version.decode(coarse: .high, sequenceIndex: window).isEmpty)
            }
        }
    }

    @Test("the revenue model decodes its buckets and days as its comments say")
    func revenueModel() throws {
        let model = try #require(try directory.conversionModels().first)
        let bucket = model.versions[0].decode(fine: 0b10_0001)
        #expect(bucket.map(\.event) == ["revenue"])
        #expect(bucket.map(\.revenueMinMicros) == [990_000])
        #expect(bucket.map(\.revenueMaxMicros) == [4_990_000])
        #expect(model.versions[0].day(fine: 0b10_0001) == 2)
        #expect(model.versions[0].decode(fine: 11) == [], "beyond the last bucket")
        #expect(model.versions[1].decode(fine: 15).map(\.revenueMaxMicros) == [1_000_000_000])
    }

    @Test("every model encodes what its values stand for")
    func encode() throws {
        for version in try directory.conversionModels().flatMap(\.versions) {
            for fine in 0...63 {
                let decoded = version.decode(fine: fine)
                guard !decoded.isEmpty else { continue }
                let flags = version.flags(fine: fine)
                let state = ConversionState(
                    eventCounts: decoded.reduce(into: [:]) {
                        $0[$1.event] = $1.countMin - (flags.contains($1.event) ? 1 : 0)
                    },
                    revenueMicros: decoded.reduce(into: [:]) { $0[$1.event] = $1.revenueMinMicros },
                    day: version.day(fine: fine) ?? 0, flags: flags)
                let encoded = try version.encode(state)
                #expect(version.decode(fine: encoded) == decoded)
                #expect(version.day(fine: encoded) == version.day(fine: fine))
            }
        }
    }

    @Test("the sample partner is sent valid postbacks only, and nothing before it has a url")
    func partners() throws {
        let partners = try directory.partners()
        #expect(partners.map(\.name) == ["example-network"])
        #expect(partners.map(\.trust) == [[.valid]])
        #expect(partners.map(\.delivery.isOff) == [true])
        #expect(partners.map(\.delivery.url.text) == ["https://url-is-not-set.invalid/"])
    }
}
