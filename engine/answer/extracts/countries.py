"""Countries and demonyms, for questions that ask for or compare countries.

General knowledge, not gazetteer: what a text calls a country today or called it yesterday, in
English, and the most common in Chinese.
"""

from __future__ import annotations

import re

_TABLE = """
Afghanistan Afghan; Albania Albanian; Algeria Algerian; Angola Angolan
Argentina Argentine,Argentinian,Argentinean; Armenia Armenian; Australia Australian
Austria Austrian; Azerbaijan Azerbaijani; Bahrain Bahraini; Bangladesh Bangladeshi
Belarus Belarusian; Belgium Belgian; Bolivia Bolivian; Bosnia Bosnian; Botswana Botswanan
Brazil Brazilian; Bulgaria Bulgarian; Cambodia Cambodian; Cameroon Cameroonian; Canada Canadian
Chile Chilean; China Chinese; Colombia Colombian; Congo Congolese; Croatia Croatian; Cuba Cuban
Cyprus Cypriot; Czechoslovakia Czechoslovak,Czechoslovakian; Denmark Danish,Dane
Ecuador Ecuadorian; Egypt Egyptian; England English; Estonia Estonian; Ethiopia Ethiopian
Finland Finnish; France French; Georgia Georgian; Germany German; Ghana Ghanaian; Greece Greek
Guatemala Guatemalan; Haiti Haitian; Honduras Honduran; Hungary Hungarian
Iceland Icelandic,Icelander; India Indian; Indonesia Indonesian; Iran Iranian,Persian; Iraq Iraqi
Ireland Irish; Israel Israeli; Italy Italian; Jamaica Jamaican; Japan Japanese; Jordan Jordanian
Kazakhstan Kazakh,Kazakhstani; Kenya Kenyan; Kuwait Kuwaiti; Kyrgyzstan Kyrgyz; Latvia Latvian
Lebanon Lebanese; Libya Libyan; Lithuania Lithuanian; Luxembourg Luxembourgish
Madagascar Malagasy; Malaysia Malaysian; Mali Malian; Malta Maltese; Mexico Mexican
Moldova Moldovan; Mongolia Mongolian; Morocco Moroccan; Mozambique Mozambican; Myanmar Burmese
Namibia Namibian; Nepal Nepali,Nepalese; Netherlands Dutch; Nicaragua Nicaraguan; Nigeria Nigerian
Norway Norwegian; Oman Omani; Pakistan Pakistani; Palestine Palestinian; Panama Panamanian
Paraguay Paraguayan; Peru Peruvian; Philippines Filipino,Philippine; Poland Polish
Portugal Portuguese; Qatar Qatari; Romania Romanian; Russia Russian; Rwanda Rwandan
Scotland Scottish; Senegal Senegalese; Serbia Serbian; Singapore Singaporean
Slovakia Slovak,Slovakian; Slovenia Slovenian,Slovene; Somalia Somali; Spain Spanish
Sudan Sudanese; Sweden Swedish; Switzerland Swiss; Syria Syrian; Taiwan Taiwanese
Tajikistan Tajik; Tanzania Tanzanian; Thailand Thai; Tunisia Tunisian; Turkey Turkish
Turkmenistan Turkmen; Uganda Ugandan; Ukraine Ukrainian; Uruguay Uruguayan; Uzbekistan Uzbek
Venezuela Venezuelan; Vietnam Vietnamese; Wales Welsh; Yemen Yemeni
Yugoslavia Yugoslav,Yugoslavian; Zambia Zambian; Zimbabwe Zimbabwean
"""
_LONGER = {
    "United States": ("American", "United States of America", "U.S.", "USA", "US"),
    "United Kingdom": ("British", "Great Britain", "UK"),
    "Czech Republic": ("Czech",),
    "South Korea": ("South Korean",),
    "North Korea": ("North Korean",),
    "New Zealand": ("New Zealander",),
    "South Africa": ("South African",),
    "Saudi Arabia": ("Saudi",),
    "Sri Lanka": ("Sri Lankan", "Ceylon"),
    "Soviet Union": ("Soviet",),
}
_CHINESE = {
    "United States": "美国", "United Kingdom": "英国", "France": "法国", "Germany": "德国",
    "Japan": "日本", "China": "中国", "Russia": "俄罗斯", "Italy": "意大利", "Spain": "西班牙",
    "Portugal": "葡萄牙", "Netherlands": "荷兰", "Canada": "加拿大", "Australia": "澳大利亚",
    "South Korea": "韩国", "North Korea": "朝鲜", "India": "印度", "Brazil": "巴西",
    "Argentina": "阿根廷", "Sweden": "瑞典", "Norway": "挪威", "Denmark": "丹麦",
    "Finland": "芬兰", "Poland": "波兰", "Austria": "奥地利", "Switzerland": "瑞士",
    "Greece": "希腊", "Turkey": "土耳其", "Egypt": "埃及", "Mexico": "墨西哥", "Thailand": "泰国",
    "Vietnam": "越南", "Malaysia": "马来西亚", "Singapore": "新加坡", "Indonesia": "印度尼西亚",
    "Philippines": "菲律宾", "Belgium": "比利时", "Ireland": "爱尔兰",
}  # fmt: skip
WITHIN = {"England": "United Kingdom", "Scotland": "United Kingdom", "Wales": "United Kingdom"}
"""A country within a country: English and British may be one nationality or two."""


def _by_word() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in re.split(r"[;\n]", _TABLE):
        if entry.strip():
            country, people = entry.split()
            found.update(dict.fromkeys((country, *people.split(",")), country))
    for country, names in _LONGER.items():
        found.update(dict.fromkeys((country, *names), country))
    found.update({word: country for country, word in _CHINESE.items()})
    return found


COUNTRY_OF = _by_word()
"""Country or demonym → country."""
_latin = sorted((w for w in COUNTRY_OF if w.isascii()), key=lambda w: (-len(w), w))
_han = sorted((w for w in COUNTRY_OF if not w.isascii()), key=lambda w: (-len(w), w))
_ANY = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _latin))})(?!\w)|(?:{'|'.join(_han)})")


def countries_in(text: str) -> list[tuple[int, int, str]]:
    """Find countries and demonyms in order: (start, end, country)."""
    return [(m.start(), m.end(), COUNTRY_OF[m.group()]) for m in _ANY.finditer(text)]
