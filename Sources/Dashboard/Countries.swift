import Foundation

/// Countries by the two letters of ISO 3166 that postbacks and bids use, and the three letters that the App Store uses.
enum Countries {
    /// Sorted by name.
    static let all: [(code: String, name: String)] = storefronts.keys.map { ($0, name(of: $0)) }
        .sorted { $0.name < $1.name }

    /// The storefront of a country; nil for an unknown country.
    static func storefront(of country: String) -> String? { storefronts[country.uppercased()] }

    /// The country of a storefront; nil for an unknown storefront.
    static func country(ofStorefront storefront: String) -> String? {
        storefronts.first { $0.value == storefront.uppercased() }?.key
    }

    /// The English name for a code of two or three letters; the code itself if it is unknown.
    static func name(of code: String) -> String {
        let short =
            code.utf8.count == 3
            ? storefronts.first { $0.value == code.uppercased() }?.key : code.uppercased()
        return short.flatMap { english.localizedString(forRegionCode: $0) } ?? code
    }

    private static let english = Locale(identifier: "en")

    private static let storefronts: [String: String] = Dictionary(
        uniqueKeysWithValues: codes.split(whereSeparator: \.isWhitespace).map {
            (String($0.prefix(2)), String($0.suffix(3)))
        })

    private static let codes = """
        ADAND AEARE AFAFG AGATG AIAIA ALALB AMARM AOAGO ARARG ASASM ATAUT AUAUS AWABW AZAZE BABIH BBBRB BDBGD BEBEL \
        BFBFA BGBGR BHBHR BIBDI BJBEN BMBMU BNBRN BOBOL BRBRA BSBHS BTBTN BWBWA BYBLR BZBLZ CACAN CDCOD CFCAF CGCOG \
        CHCHE CICIV CKCOK CLCHL CMCMR CNCHN COCOL CRCRI CUCUB CVCPV CYCYP CZCZE DEDEU DJDJI DKDNK DMDMA DODOM DZDZA \
        ECECU EEEST EGEGY ERERI ESESP ETETH FIFIN FJFJI FMFSM FOFRO FRFRA GAGAB GBGBR GDGRD GEGEO GFGUF GHGHA GIGIB \
        GLGRL GMGMB GNGIN GPGLP GQGNQ GRGRC GTGTM GUGUM GWGNB GYGUY HKHKG HNHND HRHRV HTHTI HUHUN IDIDN IEIRL ILISR \
        ININD IQIRQ IRIRN ISISL ITITA JMJAM JOJOR JPJPN KEKEN KGKGZ KHKHM KIKIR KMCOM KNKNA KPPRK KRKOR KWKWT KYCYM \
        KZKAZ LALAO LBLBN LCLCA LILIE LKLKA LRLBR LSLSO LTLTU LULUX LVLVA LYLBY MAMAR MCMCO MDMDA MEMNE MGMDG MHMHL \
        MKMKD MLMLI MMMMR MNMNG MOMAC MQMTQ MRMRT MSMSR MTMLT MUMUS MVMDV MWMWI MXMEX MYMYS MZMOZ NANAM NCNCL NENER \
        NGNGA NINIC NLNLD NONOR NPNPL NRNRU NZNZL OMOMN PAPAN PEPER PFPYF PGPNG PHPHL PKPAK PLPOL PRPRI PSPSE PTPRT \
        PWPLW PYPRY QAQAT REREU ROROU RSSRB RURUS RWRWA SASAU SBSLB SCSYC SDSDN SESWE SGSGP SISVN SKSVK SLSLE SMSMR \
        SNSEN SOSOM SRSUR SSSSD STSTP SVSLV SYSYR SZSWZ TCTCA TDTCD TGTGO THTHA TJTJK TLTLS TMTKM TNTUN TOTON TRTUR \
        TTTTO TVTUV TWTWN TZTZA UAUKR UGUGA USUSA UYURY UZUZB VAVAT VCVCT VEVEN VGVGB VIVIR VNVNM VUVUT WSWSM XKXKS \
        YEYEM YTMYT ZAZAF ZMZMB ZWZWE
        """
}
