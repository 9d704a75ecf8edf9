import Testing

@Suite("Fixtures of streams with a window")
struct FixtureTests {
    @Test("the records of a fixture give its rows: bids", arguments: Fixture.all(of: "bids"))
    func bids(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldBids(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test(
        "the records of a fixture give its rows: impressions",
        arguments: Fixture.all(of: "impressions"))
    func impressions(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldImpressions(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test(
        "the records of a fixture give its rows: overlay-clicks",
        arguments: Fixture.all(of: "overlay-clicks"))
    func overlayClicks(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldOverlayClicks(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test(
        "the records of a fixture give its rows: conversion-updates",
        arguments: Fixture.all(of: "conversion-updates"))
    func conversionUpdates(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let result = try foldConversionUpdates(Fixture.records(of: document))
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test("the fixtures are there")
    func present() {
        #expect(Fixture.all(of: "bids").count >= 5)
        #expect(Fixture.all(of: "impressions").count >= 5)
        #expect(Fixture.all(of: "overlay-clicks").count >= 4)
        #expect(Fixture.all(of: "conversion-updates").count >= 3)
    }
}
